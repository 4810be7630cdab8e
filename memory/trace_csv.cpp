#include "memory/trace_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <limits>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "memory/csv.h"
#include "memory/errors.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

enum Column { kId, kLower, kUpper, kSize, kAlignment, kOp, kLayer, kPhase, kCategory, kOffset };
constexpr std::size_t kColumns = 10;
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "id", "lower", "upper", "size", "alignment", "op", "layer", "phase", "category", "offset"};
constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// A field as errors show it: short, on one line.
std::string shown(std::string_view field) {
  constexpr std::size_t kLongest = 60;
  std::string text(field.substr(0, kLongest));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return fmt::format("got \"{}{}\"", text, field.size() > kLongest ? "…" : "");
}

// Reads the text of a trace or a plan, record by record.
class TraceReader {
 public:
  TraceReader(std::string_view text, std::string_view source) : records_(text, source) {
    read_header();
  }

  void require(Column column) const {
    if (!has(column)) {
      fail("", fmt::format("there is no column \"{}\" among {}", kColumnNames[column],
                           fmt::join(header_, ",")));
    }
  }

  void read_all(bool with_offsets) {
    const bool tagged = has(kOp) || has(kLayer) || has(kPhase) || has(kCategory);
    while (records_.next()) {
      require_field_count();
      read_id();
      read_block();
      if (has(kAlignment)) read_alignment();
      if (tagged) read_tag();
      if (with_offsets) offsets.push_back(number(kOffset, 0));
    }
  }

  Trace trace;
  std::uint64_t alignment = 1;
  std::vector<std::uint64_t> offsets;

 private:
  [[noreturn]] void fail(std::string_view field, std::string problem) const {
    throw TraceError({.source = std::string(records_.source()),
                      .line = records_.line(),
                      .field = std::string(field),
                      .problem = std::move(problem)});
  }

  bool has(Column column) const { return position_[column] != kAbsent; }
  std::string_view field(Column column) const {
    return has(column) ? records_.fields()[position_[column]] : std::string_view{};
  }

  void read_header() {
    position_.fill(kAbsent);
    if (!records_.next()) {
      fail("", "got no text, expected a header line with the columns id,lower,upper,size");
    }
    for (std::size_t i = 0; i < records_.fields().size(); ++i) {
      const std::string_view name = trimmed(records_.fields()[i]);
      header_.emplace_back(name);
      const auto known = std::find(kColumnNames.begin(), kColumnNames.end(), name);
      if (known == kColumnNames.end()) continue;
      std::size_t& position = position_[static_cast<std::size_t>(known - kColumnNames.begin())];
      if (position != kAbsent) fail(name, "the header names this column twice");
      position = i;
    }
    if (!has(kId) && !has(kLower) && !has(kUpper) && !has(kSize)) {
      fail("", shown(fmt::format("{}", fmt::join(header_, ","))) +
                   ", expected a header line with the columns id,lower,upper,size");
    }
    for (const Column column : {kId, kLower, kUpper, kSize}) require(column);
  }

  void require_field_count() const {
    if (records_.fields().size() == header_.size()) return;
    fail("", fmt::format("got {} fields, expected {} as in the header", records_.fields().size(),
                         header_.size()));
  }

  std::uint64_t number(Column column, std::uint64_t least) const {
    const std::string_view text = trimmed(field(column));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least ||
        value > kMaxNumber) {
      fail(kColumnNames[column], fmt::format("{}, expected a whole number from {} to {}",
                                             shown(field(column)), least, kMaxNumber));
    }
    return value;
  }

  // While block k is called "k", no id needs to be kept.
  void read_id() {
    const std::string_view id = field(kId);
    const std::size_t index = trace.size();
    if (id.empty()) fail("id", "got \"\", expected a name");
    if (trace.ids.empty()) {
      std::array<char, 24> digits{};
      const auto end = std::to_chars(digits.begin(), digits.end(), index).ptr;
      if (id == std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())))
        return;
      for (std::size_t i = 0; i < index; ++i) {
        trace.ids.push_back(std::to_string(i));
        seen_.insert(trace.ids.back());
      }
    }
    trace.ids.emplace_back(id);
    if (!seen_.insert(trace.ids.back()).second) {
      fail("id", shown(id) + " a second time, expected ids that differ");
    }
  }

  void read_block() {
    const auto lower = static_cast<Tick>(number(kLower, 0));
    const auto upper = static_cast<Tick>(number(kUpper, 0));
    if (lower >= upper) {
      fail("upper", fmt::format("got the {} lifetime [{}, {}), expected lower < upper",
                                lower == upper ? "empty" : "inverted", lower, upper));
    }
    trace.blocks.push_back({lower, upper, number(kSize, 0)});
  }

  void read_alignment() {
    if (!trimmed(field(kAlignment)).empty()) alignment = std::max(alignment, number(kAlignment, 1));
  }

  void read_tag() {
    trace.tags.push_back(
        {std::string(field(kOp)), std::string(field(kLayer)),
         named<Phase>(kPhase, 4, phase_name, Phase::kOutside),
         named<Category>(kCategory, kCategoryCount, category_name, Category::kUnknown)});
  }

  template <class Enum>
  Enum named(Column column, int count, std::string_view (*name)(Enum), Enum unset) const {
    const std::string_view text = trimmed(field(column));
    if (text.empty()) return unset;
    std::string all;
    for (int i = 0; i < count; ++i) {
      const std::string_view known = name(static_cast<Enum>(i));
      if (known == text) return static_cast<Enum>(i);
      all += all.empty() ? "" : ", ";
      all += known;
    }
    fail(kColumnNames[column], fmt::format("{}, expected one of {}", shown(text), all));
  }

  CsvRecords records_;
  std::array<std::size_t, kColumns> position_{};
  std::vector<std::string> header_;
  std::unordered_set<std::string> seen_;
};

std::string text_of(std::istream& in, std::string_view source) {
  std::ostringstream text;
  if (in.peek() != std::istream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || text.bad()) {
    throw TraceError({.source = std::string(source), .problem = "the text cannot be read"});
  }
  return std::move(text).str();
}

// Peak and lower bound of a plan that only has offsets and an alignment so far.
void complete(const Trace& trace, Plan& plan) {
  plan.peak = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::uint64_t bytes = rounded(trace.blocks[i].bytes, plan.alignment);
    if (plan.offsets[i] > kMaxNumber - bytes) {
      throw TraceError({.source = "plan",
                        .field = "offset",
                        .problem = fmt::format("block {} of {} bytes at {} ends beyond {}",
                                               trace.id(i), bytes, plan.offsets[i], kMaxNumber)});
    }
    plan.peak = std::max(plan.peak, plan.offsets[i] + bytes);
  }
  plan.lower_bound = lower_bound_bytes(trace, plan.alignment);
  plan.proved_bound = plan.lower_bound;
  plan.proved_optimal = plan.peak == plan.lower_bound;
}

std::string described(const TraceBlock& block) {
  return fmt::format("alive [{}, {}) with {} bytes", block.lower, block.upper, block.bytes);
}

}  // namespace

CsvTrace read_trace_csv(std::istream& in, std::string_view source) {
  const std::string text = text_of(in, source);
  TraceReader reader(text, source);
  reader.read_all(false);
  return {std::move(reader.trace), reader.alignment};
}

CsvPlan read_plan_csv(std::istream& in, std::string_view source) {
  const std::string text = text_of(in, source);
  TraceReader reader(text, source);
  reader.require(kOffset);
  reader.read_all(true);
  CsvPlan result;
  result.trace = std::move(reader.trace);
  result.plan.offsets = std::move(reader.offsets);
  result.plan.alignment = reader.alignment;
  result.plan.planner = "csv";
  complete(result.trace, result.plan);
  return result;
}

Plan match_plan(const CsvPlan& csv, const Trace& trace, std::uint64_t alignment) {
  std::unordered_map<std::string, std::size_t> index_of;
  index_of.reserve(csv.trace.size());
  for (std::size_t i = 0; i < csv.trace.size(); ++i) index_of.emplace(csv.trace.id(i), i);
  Plan plan = csv.plan;
  plan.alignment = alignment;
  plan.offsets.clear();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto found = index_of.find(trace.id(i));
    if (found == index_of.end()) {
      throw PlanMismatch(fmt::format("the plan has no offset for block {}", trace.id(i)));
    }
    const TraceBlock& planned = csv.trace.blocks[found->second];
    if (planned != trace.blocks[i]) {
      throw PlanMismatch(fmt::format("block {} is {} in the trace, but {} in the plan", trace.id(i),
                                     described(trace.blocks[i]), described(planned)));
    }
    plan.offsets.push_back(csv.plan.offsets[found->second]);
    index_of.erase(found);
  }
  for (std::size_t i = 0; i < csv.trace.size() && !index_of.empty(); ++i) {
    if (!index_of.contains(csv.trace.id(i))) continue;
    throw PlanMismatch(fmt::format("block {} of the plan is not in the trace", csv.trace.id(i)));
  }
  complete(trace, plan);
  return plan;
}

}  // namespace skyline
