#include "train/lab/olla/olla.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "memory/allocators/allocators.h"
#include "memory/device/out_of_memory.h"
#include "memory/device/simulated_device.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/order/order_problem.h"
#include "memory/order/placed_order.h"
#include "memory/planners/registry.h"
#include "memory/replay/trace_replay.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kOllaPage;  // OLLA's steps, before and after ordering

namespace {

constexpr std::uint64_t kCapacity = 8192;

// Returns why `bfc` refuses a request of the trace; empty if it serves all.
std::string refusal_by_bfc(const Trace& trace) {
  SimulatedDevice device(kCapacity);
  const auto bfc = make_allocator("bfc", device);
  try {
    replay_trace(trace, *bfc);
  } catch (const OutOfMemory& refused) {
    return std::string(shortage_name(refused.facts().shortage));
  }
  return {};
}

FragmentationFigure fragmentation_figure() {
  std::istringstream in{std::string(olla_figure_4())};
  FragmentationFigure figure{.trace = read_trace_csv(in, "figure 4"), .capacity = kCapacity};
  figure.as_requested = plan(figure.trace, "program-order", {.alignment = 1});
  figure.plan = plan(figure.trace, kDefaultPlanner, {.alignment = 1});
  figure.refusal = refusal_by_bfc(figure.trace);
  return figure;
}

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

// MODeL is OLLA's code; its README shows one network, ordered by Gurobi.
std::optional<OllaFigure> published_figure(std::string_view network) {
  if (network == "alexnet-32") return OllaFigure{"OLLA (MODeL's README)", 0.5618, 0.4783};
  return std::nullopt;
}

double median_seconds(const StepGraph& graph, int runs) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) seconds.push_back(order(graph).seconds);
  return median(seconds).value_or(0);
}

OllaRow row_of(std::string_view text, int timed_runs) {
  std::istringstream in{std::string(text)};
  OllaRow row{.optimal = answer({.file = read_graph(in, "embedded graph")})};
  const StepGraph& graph = row.optimal.file.graph;
  const std::uint64_t resident = row.optimal.resident_bytes;
  row.optimal.answer.seconds = median_seconds(graph, timed_runs);
  row.inductor = resident + order(graph, "inductor").peak;
  row.xla = resident + order(graph, "xla").peak;
  row.tensorflow = resident + order(graph, "tensorflow").peak;
  const Trace as_written =
      trace_of_order(graph, program_sequence(order_problem(graph, {})), OrderOptions{});
  row.caching = resident + replay_trace(as_written, "caching").statistics.peak_reserved_bytes;
  row.published = published_figure(row.optimal.file.name);
  return row;
}

constexpr std::string_view kOllaSource = "Steiner et al. 2022, arXiv:2210.12924";
constexpr double kHardlyAny = 0.01;  // share of the program's peak

std::string published_text(const OllaRow& row) {
  return row.published ? percent(row.published->saving(), 1) : std::string();
}

std::string table_text(const OllaReproduction& reproduction) {
  Table table(
      "<step | ops | program | early | late | Inductor | XLA | TensorFlow | optimal | bound | "
      "<proved | "
      "saves | OLLA's | time");
  for (const OllaRow& row : reproduction.rows) {
    const OrderResult& optimal = row.optimal;
    table.add_row({optimal.file.name, std::to_string(optimal.answer.order.size()),
                   format_bytes(optimal.program), format_bytes(optimal.early),
                   format_bytes(optimal.late), format_bytes(row.inductor), format_bytes(row.xla),
                   format_bytes(row.tensorflow), format_bytes(optimal.peak()),
                   format_bytes(optimal.lower_bound()),
                   optimal.answer.proved_optimal ? "yes" : "no", percent(optimal.saving(), 1),
                   published_text(row), fmt::format("{:.2f} ms", 1e3 * optimal.answer.seconds)});
  }
  return table.str();
}

// The order with its addresses, against the program's order on PyTorch's allocator.
std::string placed_text(const OllaReproduction& reproduction) {
  Table table(
      "<step | PyTorch's allocator | program's order | optimal order | placed | by order | "
      "fragmentation | both");
  for (const OllaRow& row : reproduction.rows) {
    const auto bytes = [](std::uint64_t count) { return std::to_string(count); };
    table.add_row({row.optimal.file.name, bytes(row.caching), bytes(row.optimal.program),
                   bytes(row.optimal.peak()), bytes(row.optimal.placed),
                   percent(row.order_saving(), 1), percent(row.fragmentation(), 1),
                   percent(row.both_saving(), 1)});
  }
  return table.str();
}

std::string summary_text(const OllaReproduction& reproduction) {
  const auto mean = [&](auto share) { return percent(reproduction.mean(share), 1); };
  std::string text = fmt::format(
      "peaks with resident bytes; PyTorch's allocator: the program's order, replayed on caching, "
      "which "
      "rounds to 512 bytes and keeps segments\nmeans: order {}, fragmentation {}, both {}; all "
      "searches take {:.1f} ms\nOLLA: > 30 % on average over its networks, order and fragmentation "
      "together, median < 10 s\n",
      mean(&OllaRow::order_saving), mean(&OllaRow::fragmentation), mean(&OllaRow::both_saving),
      1e3 * reproduction.seconds());
  for (const OllaRow& row : reproduction.rows) {
    if (!row.published) continue;
    text += fmt::format("{}: {} {:.4f} -> {:.4f} GiB, {}; ours {:.4f} GiB, {}\n",
                        row.optimal.file.name, row.published->source, row.published->before_gib,
                        row.published->after_gib, percent(row.published->saving(), 1),
                        static_cast<double>(row.optimal.peak()) / (1 << 30),
                        percent(row.optimal.saving(), 1));
  }
  std::string hardly;
  for (const OllaRow& row : reproduction.rows) {
    if (row.optimal.saving() >= kHardlyAny) continue;
    hardly += (hardly.empty() ? "" : ", ") + row.optimal.file.name;
  }
  return hardly.empty() ? text : text + "order gains less than 1 %: " + hardly + "\n";
}

std::string cuts_text(const OllaReproduction& reproduction) {
  std::string text = "why no order needs less\n\n";
  for (const OllaRow& row : reproduction.rows) {
    const std::optional<BoundExplanation>& cut = row.optimal.explanation;
    if (!cut) continue;
    text += fmt::format("{}: {}\n", row.optimal.file.name,
                        bound_sentence(row.optimal.file.graph, *cut));
  }
  return text;
}

using Json = nlohmann::ordered_json;

}  // namespace

Rows<TraceBlock> rows(const TraceBlock*) {
  return {{"lower", kNumber, "the first tick of its life", &TraceBlock::lower},
          {"upper", kNumber, "the tick after its life", &TraceBlock::upper},
          {"bytes", kBytes, "of the block", &TraceBlock::bytes}};
}

Rows<FragmentationFigure> rows(const FragmentationFigure*) {
  return {{"capacity", kBytes, "of the memory", &FragmentationFigure::capacity},
          {"blocks", "A, B and C", [](auto& figure) { return figure.trace.blocks; }},
          {"as_requested", "offsets in holes when blocks are requested",
           [](auto& figure) { return figure.as_requested.offsets; }},
          {"planned", "offsets of the plan", [](auto& figure) { return figure.plan.offsets; }},
          {"refusal", "why bfc refuses a request", &FragmentationFigure::refusal}};
}

std::string OllaFigures::text() const {
  return fmt::format(
      "figure 3: {:g} -> {:g} MB by order{}\n"
      "figure 4: of {}, bfc refuses a request: {}; a plan fits into {}\n",
      megabytes(order.program), megabytes(order.peak()),
      order.answer.proved_optimal ? ", proved: no order needs less" : "",
      format_bytes(fragmentation.capacity), fragmentation.refusal,
      format_bytes(fragmentation.plan.peak));
}

OllaFigures olla_figures() {
  std::istringstream in{std::string(olla_figure_3())};
  return {.order = answer({.file = read_graph(in, "figure 3")}),
          .fragmentation = fragmentation_figure()};
}

double OllaRow::saved(std::uint64_t before, std::uint64_t after) {
  return before == 0 ? 0 : 1 - static_cast<double>(after) / static_cast<double>(before);
}

double OllaReproduction::mean(double (OllaRow::*share)() const) const {
  double sum = 0;
  for (const OllaRow& row : rows) sum += (row.*share)();
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

double OllaReproduction::seconds() const {
  double sum = 0;
  for (const OllaRow& row : rows) sum += row.optimal.answer.seconds;
  return sum;
}

OllaReproduction reproduce_olla(int timed_runs) {
  OllaReproduction reproduction{.figures = olla_figures(), .rows = {}};
  for (const std::string_view text : network_graphs()) {
    reproduction.rows.push_back(row_of(text, timed_runs));
  }
  return reproduction;
}

std::string olla_text(const OllaReproduction& reproduction) {
  return "OLLA (Steiner et al. 2022, arXiv:2210.12924): the order of a training step's ops\n\n" +
         reproduction.figures.text() + "\n" + table_text(reproduction) + "\n" +
         placed_text(reproduction) + summary_text(reproduction) + "\n" + cuts_text(reproduction);
}

Rows<OllaFigure> rows(const OllaFigure*) {
  return {{"source", "who reports it", &OllaFigure::source},
          {"before_gib", kNumber, "GiB of the program's order", &OllaFigure::before_gib},
          {"after_gib", kNumber, "GiB of theirs", &OllaFigure::after_gib},
          {"saving", kShare, "of the program's peak", &OllaFigure::saving}};
}

Rows<OllaRow> rows(const OllaRow*) {
  return {{"", "as the command order prints it", &OllaRow::optimal},
          {"inductor", kBytes, "peak of Inductor's order", &OllaRow::inductor},
          {"xla", kBytes, "peak of XLA's order", &OllaRow::xla},
          {"tensorflow", kBytes, "peak of TensorFlow's order", &OllaRow::tensorflow},
          {"caching", kBytes, "reserved by PyTorch's allocator for the program's order",
           &OllaRow::caching},
          {"fragmentation", kShare, "of that, above the program's peak", &OllaRow::fragmentation},
          {"both_saving", kShare, "of that, above the placed order", &OllaRow::both_saving},
          {"published", "what others report for this step", &OllaRow::published}};
}

Rows<OllaReproduction> rows(const OllaReproduction*) {
  return {
      {"paper", "olla", [](auto&) { return "olla"; }},
      {"source", "authors, year, number", [](auto&) { return kOllaSource; }},
      {"figure_3", "the paper's figure 3, as the command order prints it",
       [](auto& done) { return done.figures.order; }},
      {"figure_4", "the paper's figure 4", [](auto& done) { return done.figures.fragmentation; }},
      {"mean_saving", kShare, "of the program's peak, over all steps",
       [](auto& done) { return done.mean(&OllaRow::order_saving); }},
      {"mean_fragmentation", kShare, "of what PyTorch's allocator reserves",
       [](auto& done) { return done.mean(&OllaRow::fragmentation); }},
      {"mean_both_saving", kShare, "of what PyTorch's allocator reserves",
       [](auto& done) { return done.mean(&OllaRow::both_saving); }},
      {"seconds", kSeconds, "of all searches", &OllaReproduction::seconds},
      {"rows", "one object a step", &OllaReproduction::rows}};
}

std::string olla_page(const OllaReproduction& reproduction) {
  Json data = to_json(reproduction);
  for (std::size_t i = 0; i < reproduction.rows.size(); ++i) {
    data["rows"][i].update(to_json(reproduction.rows[i].optimal.view()));
  }
  data["figure_3"].update(to_json(reproduction.figures.order.view()));
  return render_page(kOllaPage, "OLLA's order and ours", data.dump());
}

}  // namespace skyline
