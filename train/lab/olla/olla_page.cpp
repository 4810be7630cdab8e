#include <nlohmann/json.hpp>

#include "train/lab/olla/olla.h"
#include "train/report/page.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// A curve of the page: bytes alive at each op, and the ops.
Json curve_json(const std::vector<std::uint64_t>& bytes, const std::vector<OpId>& order) {
  return {{"bytes", bytes}, {"order", order}};
}

std::vector<OpId> written_order(std::size_t ops) {
  std::vector<OpId> order;
  for (OpId op = 0; op < ops; ++op) order.push_back(op);
  return order;
}

}  // namespace

std::string olla_page(const OllaReproduction& reproduction) {
  Json data = to_json(reproduction);
  for (std::size_t i = 0; i < reproduction.rows.size(); ++i) {
    const OllaRow& row = reproduction.rows[i];
    const OrderResult& optimal = row.optimal;
    Json& json = data["rows"][i];
    json["names"] = Json::array();
    for (const StepOp& op : optimal.file.graph.ops) json["names"].push_back(op.name);
    json["before"] = curve_json(row.program_bytes, written_order(row.program_bytes.size()));
    json["after"] = curve_json(row.optimal_bytes, optimal.answer.order);
    json["sentence"] =
        optimal.explanation ? bound_sentence(optimal.file.graph, *optimal.explanation) : "";
  }
  return render_page(kOllaPage, "OLLA's order and ours", data.dump());
}

}  // namespace skyline
