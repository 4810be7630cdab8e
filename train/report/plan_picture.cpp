#include "train/report/plan_picture.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "memory/errors.h"
#include "memory/format_to.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/report/plan_picture_kinds.h"

namespace skyline {
namespace {

// Of the whole picture and its plot, in the units of its viewBox.
constexpr double kWidth = 1200, kHeight = 720;
constexpr double kLeft = 86, kRight = 1060, kTop = 72, kBottom = 640;
constexpr double kLegendTop = 692;
constexpr double kLeastSide = 0.4;   // thinner blocks would not be seen
constexpr double kOutlinedSide = 4;  // thinner blocks have no outline: it would be all one sees
constexpr double kCharacterWidth = 6.4, kLabelHeight = 13;

// Text for XML: well-formed UTF-8, no markup, no control characters.
std::string escaped(std::string_view text) {
  using Json = nlohmann::json;
  const std::string shown =
      Json::parse(Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace));
  std::string xml;
  for (const char c : shown) {
    if (c == '&') {
      xml += "&amp;";
    } else if (c == '<') {
      xml += "&lt;";
    } else if (c == '>') {
      xml += "&gt;";
    } else {
      xml += static_cast<unsigned char>(c) < ' ' && c != '\n' ? ' ' : c;
    }
  }
  return xml;
}

// The least of 1, 2, 5, 10, 20 … that is at least `least`.
Tick nice_step(std::uint64_t least) {
  Tick power = 1;
  while (least > 10 * static_cast<std::uint64_t>(power)) power *= 10;
  for (const Tick factor : {1, 2, 5}) {
    if (static_cast<std::uint64_t>(factor * power) >= least) return factor * power;
  }
  return 10 * power;
}

class Picture {
 public:
  Picture(const Trace& trace, const Plan& plan, std::string_view title)
      : trace_(trace), plan_(plan), title_(title) {
    first_ = trace.blocks[0].lower;
    last_ = trace.blocks[0].upper;
    for (const TraceBlock& block : trace.blocks) {
      first_ = std::min(first_, block.lower);
      last_ = std::max(last_, block.upper);
      rounded_.push_back(align_checked(block.bytes, plan.alignment));
    }
    kinds_ = picture_kinds(trace, rounded_);
  }

  std::string drawn() {
    begin();
    draw_grid();
    for (const PictureKind& kind : kinds_) draw_blocks(kind);
    for (const PictureKind& kind : kinds_) draw_labels(kind);
    draw_axes();
    draw_levels();
    draw_legend();
    return svg_ + "</svg>\n";
  }

 private:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Arguments>(arguments)...);
  }

  // Differences before they become doubles, which do not hold every tick.
  double ticks_since_first(Tick tick) const {
    return static_cast<double>(static_cast<std::uint64_t>(tick) -
                               static_cast<std::uint64_t>(first_));
  }
  double x(Tick tick) const {
    return kLeft + ticks_since_first(tick) / ticks_since_first(last_) * (kRight - kLeft);
  }
  double y(std::uint64_t address) const {
    const double most = 1.02 * static_cast<double>(std::max<std::uint64_t>(plan_.peak, 1));
    return kBottom - static_cast<double>(address) / most * (kBottom - kTop);
  }

  struct Box {
    double x, y, width, height;
  };
  Box box(std::size_t index, Tick lower, Tick upper) const {
    const std::uint64_t offset = plan_.offsets[index];
    const double left = x(lower), top = y(offset + rounded_[index]);
    return {left, top, std::max(x(upper) - left, kLeastSide),
            std::max(y(offset) - top, kLeastSide)};
  }

  void begin() {
    const std::string proof = plan_.proved_optimal ? ", proved optimal" : "";
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" "
        "height=\"{}\" role=\"img\" font-family=\"sans-serif\">\n",
        kWidth, kHeight, kWidth, kHeight);
    add("<title>The plan of {}</title>\n<style>{}</style>\n", escaped(title_), kPictureStyle);
    add("<rect class=\"ground\" width=\"{}\" height=\"{}\"/>\n", kWidth, kHeight);
    add("<text class=\"name\" x=\"{}\" y=\"30\">{}</text>\n", kLeft, escaped(title_));
    add("<text class=\"figures\" x=\"{}\" y=\"53\">{} blocks · peak {} · lower bound {} · gap "
        "{:.3g} %{} · {}</text>\n",
        kLeft, trace_.size(), format_bytes(plan_.peak), format_bytes(plan_.lower_bound),
        100 * plan_.gap(), proof, escaped(plan_.planner));
  }

  std::string lifetime_of(std::size_t index) const {
    const TraceBlock& block = trace_.blocks[index];
    std::string ticks = fmt::format("ticks [{}, {})", block.lower, block.upper);
    for (const TraceGap& gap : gaps_of(index)) {
      ticks += fmt::format(", not in [{}, {})", gap.lower, gap.upper);
    }
    return ticks;
  }

  std::vector<TraceGap> gaps_of(std::size_t index) const {
    const auto [first, last] =
        std::equal_range(trace_.gaps.begin(), trace_.gaps.end(), TraceGap{.block = index},
                         [](const TraceGap& a, const TraceGap& b) { return a.block < b.block; });
    return {first, last};
  }

  std::string description(std::size_t index) const {
    std::string text = trace_.id(index);
    if (!trace_.tags.empty()) {
      const BlockTag& tag = trace_.tags[index];
      for (const std::string& part : {tag.layer, tag.op}) {
        if (!part.empty()) text += " · " + part;
      }
      text += fmt::format(" ({})", category_name(tag.category));
    }
    return fmt::format("{}\n{}\n{} bytes ({}) at {} ({})", text, lifetime_of(index),
                       trace_.blocks[index].bytes, format_bytes(trace_.blocks[index].bytes),
                       plan_.offsets[index], format_bytes(plan_.offsets[index]));
  }

  void draw_blocks(const PictureKind& kind) {
    if (kind.blocks.empty()) return;
    add("<g class=\"{}\">\n", kind.colour);
    for (const std::size_t index : kind.blocks) draw_block(index);
    add("</g>\n");
  }

  void draw_block(std::size_t index) {
    const TraceBlock& block = trace_.blocks[index];
    const Box whole = box(index, block.lower, block.upper);
    const bool outlined = whole.width >= kOutlinedSide && whole.height >= kOutlinedSide;
    const std::string_view shape = outlined ? " class=\"outlined\"" : "";
    const std::vector<TraceGap> gaps = gaps_of(index);
    if (gaps.empty()) {
      add("<rect{} x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\"><title>{}</title>"
          "</rect>\n",
          shape, whole.x, whole.y, whole.width, whole.height, escaped(description(index)));
      return;
    }
    add("<path{} d=\"", shape);
    Tick from = block.lower;
    for (const TraceGap& gap : gaps) {
      add_part(index, from, gap.lower);
      from = gap.upper;
    }
    add_part(index, from, block.upper);
    add("\"><title>{}</title></path>\n", escaped(description(index)));
  }
  void add_part(std::size_t index, Tick from, Tick to) {
    if (from == to) return;
    const Box part = box(index, from, to);
    add("M{:.6g} {:.6g}h{:.6g}v{:.6g}h{:.6g}z", part.x, part.y, part.width, part.height,
        -part.width);
  }

  void draw_labels(const PictureKind& kind) {
    for (const std::size_t index : kind.blocks) {
      const TraceBlock& block = trace_.blocks[index];
      const Box place = box(index, block.lower, block.upper);
      if (place.height < kLabelHeight || place.width < 2 * kCharacterWidth) continue;
      if (!gaps_of(index).empty()) continue;  // it would lie in another's rectangle
      const std::string layer = trace_.tags.empty() ? "" : trace_.tags[index].layer;
      const std::string& label = layer.empty() ? trace_.id(index) : layer;
      const double room = static_cast<double>(display_width(label)) * kCharacterWidth;
      if (room + 6 > place.width) continue;
      add("<text class=\"label {}t\" x=\"{:.6g}\" y=\"{:.6g}\">{}</text>\n", kind.colour,
          place.x + place.width / 2, place.y + place.height / 2 + 4, escaped(label));
    }
  }

  // Powers of two, so that labels are round in binary units.
  std::uint64_t bytes_step() const {
    return std::bit_ceil(std::max<std::uint64_t>(plan_.peak / 9, 1));
  }

  void draw_grid() {
    for (std::uint64_t bytes = 0; bytes <= plan_.peak; bytes += bytes_step()) {
      add("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.6g}\" y2=\"{:.6g}\"/>\n", kLeft, kRight,
          y(bytes), y(bytes));
      add("<text x=\"{}\" y=\"{:.6g}\" text-anchor=\"end\">{}</text>\n", kLeft - 8, y(bytes) + 4,
          format_bytes(bytes));
    }
  }

  void draw_axes() {
    add("<path class=\"axis\" fill=\"none\" d=\"M{} {}V{}H{}\"/>\n", kLeft, kTop, kBottom, kRight);
    const Tick step = nice_step(static_cast<std::uint64_t>(ticks_since_first(last_) / 11));
    const Tick over = first_ % step;
    for (Tick at = over > 0 ? first_ - over + step : first_ - over; at <= last_; at += step) {
      add("<path class=\"axis\" d=\"M{:.6g} {}v5\"/>\n", x(at), kBottom);
      add("<text x=\"{:.6g}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(at), kBottom + 20,
          at);
      if (at > last_ - step) break;
    }
    add("<text x=\"{}\" y=\"{}\">ticks</text>\n", kRight + 28, kBottom + 20);
    add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">address</text>\n", kLeft - 8, kTop - 6);
  }

  struct Level {
    std::string_view name, colour;
    std::uint64_t bytes;
  };
  std::vector<Level> levels() const {
    if (plan_.peak == plan_.lower_bound) return {{"peak = lower bound", "peak", plan_.peak}};
    std::vector<Level> all = {{"peak", "peak", plan_.peak}};
    if (plan_.proved_bound > plan_.lower_bound && plan_.proved_bound < plan_.peak) {
      all.push_back({"proved bound", "proved", plan_.proved_bound});
    }
    all.push_back({"lower bound", "bound", plan_.lower_bound});
    return all;
  }
  // From the highest; labels are pushed down where they would lie on each other.
  void draw_levels() {
    constexpr double kLabelPitch = 34;
    double free = -kHeight;
    for (const Level& level : levels()) {
      const double at = y(level.bytes), text = std::max(at, free);
      free = text + kLabelPitch;
      add("<path class=\"level {}\" d=\"M{} {:.6g}H{}\"/>\n", level.colour, kLeft, at, kRight);
      add("<text class=\"{}\" x=\"{}\" y=\"{:.6g}\">{}</text>\n", level.colour, kRight + 8,
          text - 2, level.name);
      add("<text x=\"{}\" y=\"{:.6g}\">{}</text>\n", kRight + 8, text + 13,
          format_bytes(level.bytes));
    }
  }

  void draw_legend() {
    double at = kLeft;
    for (const PictureKind& kind : kinds_) {
      if (kind.blocks.empty()) continue;
      add("<rect class=\"{}\" x=\"{:.6g}\" y=\"{}\" width=\"13\" height=\"13\" rx=\"2\"/>\n",
          kind.colour, at, kLegendTop - 11);
      add("<text x=\"{:.6g}\" y=\"{}\">{}</text>\n", at + 19, kLegendTop, kind.name);
      at += 19 + static_cast<double>(display_width(kind.name)) * kCharacterWidth + 22;
    }
  }

  const Trace& trace_;
  const Plan& plan_;
  std::string_view title_;
  Tick first_ = 0, last_ = 0;
  std::vector<std::uint64_t> rounded_;
  std::vector<PictureKind> kinds_;
  std::string svg_;
};

std::string empty_picture(std::string_view title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} 80\" width=\"{}\" "
      "height=\"80\">\n<title>The plan of {}</title>\n<style>{}</style>\n<rect class=\"ground\" "
      "width=\"{}\" height=\"80\"/>\n<text x=\"20\" y=\"45\">an empty plan: nothing is "
      "requested</text>\n</svg>\n",
      kWidth, kWidth, escaped(title), kPictureStyle, kWidth);
}

}  // namespace

std::string plan_picture(const Trace& trace, const Plan& plan, std::string_view title) {
  if (plan.offsets.size() != trace.size()) {
    throw PlanMismatch(
        fmt::format("the plan has {} offsets for {} blocks", plan.offsets.size(), trace.size()));
  }
  if (trace.size() > kMostPictureBlocks) {
    throw std::invalid_argument(
        fmt::format("a picture of {} blocks, more than {}", trace.size(), kMostPictureBlocks));
  }
  if (trace.size() == 0) return empty_picture(title);
  return Picture(trace, plan, title).drawn();
}

}  // namespace skyline
