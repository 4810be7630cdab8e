#include <nlohmann/json.hpp>

#include "train/lab/olla/olla.h"
#include "train/report/page.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

std::vector<OpId> written_order(std::size_t ops) {
  std::vector<OpId> order;
  for (OpId op = 0; op < ops; ++op) order.push_back(op);
  return order;
}

OrderView view_of(const OllaRow& row) {
  const OrderResult& optimal = row.optimal;
  const StepGraph& graph = optimal.file.graph;
  OrderView view{.algorithm = optimal.answer.algorithm,
                 .resident_bytes = optimal.resident_bytes,
                 .before = {written_order(graph.ops.size()), row.program_bytes},
                 .after = {optimal.answer.order, row.optimal_bytes},
                 .lower_bound = optimal.lower_bound(),
                 .least_known = optimal.peak()};
  for (const StepOp& op : graph.ops) view.names.push_back(op.name);
  if (optimal.explanation) explain(view, graph, *optimal.explanation);
  return view;
}

}  // namespace

std::string olla_page(const OllaReproduction& reproduction) {
  Json data = to_json(reproduction);
  for (std::size_t i = 0; i < reproduction.rows.size(); ++i) {
    data["rows"][i].update(to_json(view_of(reproduction.rows[i])));
  }
  return render_page(kOllaPage, "OLLA's order and ours", data.dump());
}

}  // namespace skyline
