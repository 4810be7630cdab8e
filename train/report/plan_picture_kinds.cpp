#include "train/report/plan_picture_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

constexpr std::size_t kSizeClasses = 6;
static_assert(kCategoryCount == 10, "a colour for each category");

std::vector<PictureKind> kinds_of_categories(const Trace& trace) {
  std::vector<PictureKind> kinds;
  for (int i = 0; i < kCategoryCount; ++i) {
    kinds.push_back({fmt::format("k{}", i), std::string(category_name(static_cast<Category>(i)))});
  }
  for (std::size_t i = 0; i < trace.size(); ++i) {
    kinds[static_cast<std::size_t>(trace.tags[i].category)].blocks.push_back(i);
  }
  return kinds;
}

// Up to the largest block in equal steps of the logarithm, over three decades at most: what is
// smaller than that is hard to see and takes the first colour.
std::vector<PictureKind> kinds_of_sizes(const std::vector<std::uint64_t>& rounded) {
  const auto [least, most] = std::minmax_element(rounded.begin(), rounded.end());
  const double high = std::log10(static_cast<double>(*most));
  const double low = std::max(std::log10(static_cast<double>(*least)), high - 3);
  const double span = high - low;
  std::vector<PictureKind> kinds(kSizeClasses);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(kSizeClasses, {~0ull, 0});
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    const double above = std::log10(static_cast<double>(rounded[i])) - low;
    const double share = span > 0 ? std::max(above / span, 0.0) : 0.5;
    const auto kind = std::min(static_cast<std::size_t>(share * kSizeClasses), kSizeClasses - 1);
    kinds[kind].blocks.push_back(i);
    ranges[kind] = {std::min(ranges[kind].first, rounded[i]),
                    std::max(ranges[kind].second, rounded[i])};
  }
  for (std::size_t k = 0; k < kSizeClasses; ++k) {
    const auto [from, to] = ranges[k];
    kinds[k].colour = fmt::format("s{}", k);
    kinds[k].name = from == to ? format_bytes(from)
                               : fmt::format("{} to {}", format_bytes(from), format_bytes(to));
  }
  return kinds;
}

}  // namespace

std::vector<PictureKind> picture_kinds(const Trace& trace,
                                       const std::vector<std::uint64_t>& rounded) {
  return trace.tags.empty() ? kinds_of_sizes(rounded) : kinds_of_categories(trace);
}

// The categories' colours are those of the report, after Okabe and Ito (2008).
const std::string_view kPictureStyle = R"(
  text { font: 12px system-ui, "Noto Sans", "DejaVu Sans", sans-serif; fill: #59616b; }
  .ground { fill: #ffffff; }
  .name { font-size: 20px; font-weight: 600; fill: #16191d; }
  .figures { font-size: 14px; }
  .grid { stroke: #e8ebee; }
  .axis { stroke: #59616b; }
  .outlined { stroke: #ffffff; stroke-width: 0.8; }
  .label { text-anchor: middle; pointer-events: none; fill: #000000; }
  .k1t, .k7t, .s3t, .s4t, .s5t { fill: #ffffff; }
  .peak { stroke: #0b57a4; } text.peak { stroke: none; fill: #0b57a4; }
  .bound { stroke: #a63d00; } text.bound { stroke: none; fill: #a63d00; }
  .proved { stroke: #00694c; } text.proved { stroke: none; fill: #00694c; }
  .level { stroke-width: 1.6; stroke-dasharray: 6 4; fill: none; }
  .k0 { fill: #56b4e9; } .k1 { fill: #0072b2; } .k2 { fill: #e69f00; } .k3 { fill: #009e73; }
  .k4 { fill: #f0e442; } .k5 { fill: #d55e00; } .k6 { fill: #cc79a7; } .k7 { fill: #5f4690; }
  .k8 { fill: #7a828c; } .k9 { fill: #b9bfc6; }
  .s0 { fill: #c7e9b4; } .s1 { fill: #7fcdbb; } .s2 { fill: #41b6c4; } .s3 { fill: #1d91c0; }
  .s4 { fill: #225ea8; } .s5 { fill: #0c2c84; }
  @media (prefers-color-scheme: dark) {
    text { fill: #a3acb6; }
    .ground { fill: #14171b; }
    .name { fill: #e9ecef; }
    .grid { stroke: #262b31; }
    .axis { stroke: #a3acb6; }
    .outlined { stroke: #14171b; }
    .peak { stroke: #7cb8f2; } text.peak { fill: #7cb8f2; }
    .bound { stroke: #f0935a; } text.bound { fill: #f0935a; }
    .proved { stroke: #4fc9a0; } text.proved { fill: #4fc9a0; }
    .k1 { fill: #2f8fce; } .k7 { fill: #9a82cf; } .k8 { fill: #8b949e; } .k9 { fill: #5d656e; }
    .s0 { fill: #24506b; } .s1 { fill: #1f6f8b; } .s2 { fill: #2a9d9d; } .s3 { fill: #58bf93; }
    .s4 { fill: #a5d977; } .s5 { fill: #f0f081; }
    .label { fill: #000000; } .s0t, .s1t { fill: #ffffff; }
  }
)";

}  // namespace skyline
