#include "train/report/order_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t most_of(const OrderCurve& curve) {
  return curve.bytes.empty() ? 0 : std::ranges::max(curve.bytes);
}

Json curve_json(const OrderCurve& curve) {
  return {{"order", curve.order}, {"bytes", curve.bytes}};
}

Json cut_json(const std::vector<CutRow>& rows) {
  Json json = Json::array();
  for (const CutRow& row : rows) {
    json.push_back(Json::array({row.bytes, row.written_by, row.needed_by}));
  }
  return json;
}

}  // namespace

std::uint64_t OrderView::program() const { return most_of(before); }
std::uint64_t OrderView::peak() const { return most_of(after); }

Json to_json(const OrderView& view) {
  return {{"algorithm", view.algorithm},
          {"names", view.names},
          {"resident_bytes", view.resident_bytes},
          {"program", view.program()},
          {"peak", view.peak()},
          {"before", curve_json(view.before)},
          {"after", curve_json(view.after)},
          {"lower_bound", view.lower_bound},
          {"forward_as_written", view.forward_as_written},
          {"bound_by_search", view.bound_by_search},
          {"least_known", view.least_known},
          {"sentence", view.sentence},
          {"cut_rows", cut_json(view.cut)}};
}

}  // namespace skyline
