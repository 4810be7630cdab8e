#include "train/lab/olla/olla.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "memory/order/order_problem.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kOllaPage;  // OLLA's steps, before and after ordering

namespace {

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

OllaRow row_of(std::string_view text, const OllaOptions& options) {
  std::istringstream in{std::string(text)};
  OllaRow row{.optimal = answer({.file = read_graph(in, "embedded graph")})};
  const StepGraph& graph = row.optimal.file.graph;
  const std::uint64_t resident = row.optimal.resident_bytes;
  row.optimal.answer.seconds = median_seconds(graph, options.timed_runs);
  row.inductor = resident + order(graph, "inductor").peak;
  row.xla = resident + order(graph, "xla").peak;
  row.published = published_figure(row.optimal.file.name);

  const OrderProblem problem = order_problem(graph, {});
  row.program_bytes = order_bytes(problem, program_sequence(problem));
  row.optimal_bytes = order_bytes(problem, row.optimal.answer.order);
  for (auto* curve : {&row.program_bytes, &row.optimal_bytes}) {
    for (std::uint64_t& bytes : *curve) bytes += resident;
  }
  return row;
}

constexpr std::string_view kOllaSource = "Steiner et al. 2022, arXiv:2210.12924";
constexpr double kHardlyAny = 0.01;  // share of the program's peak

std::string published_text(const OllaRow& row) {
  return row.published ? percent(row.published->saving(), 1) : std::string();
}

std::string table_text(const OllaReproduction& reproduction) {
  Table table(
      "<step | ops | program | early | late | Inductor | XLA | optimal | bound | <proved | saves | "
      "OLLA's | time");
  for (const OllaRow& row : reproduction.rows) {
    const OrderResult& optimal = row.optimal;
    table.add_row({optimal.file.name, std::to_string(optimal.answer.order.size()),
                   format_bytes(optimal.program), format_bytes(optimal.early),
                   format_bytes(optimal.late), format_bytes(row.inductor), format_bytes(row.xla),
                   format_bytes(optimal.peak()), format_bytes(optimal.lower_bound()),
                   optimal.answer.proved_optimal ? "yes" : "no", percent(optimal.saving(), 1),
                   published_text(row), fmt::format("{:.2f} ms", 1e3 * optimal.answer.seconds)});
  }
  return table.str();
}

std::string summary_text(const OllaReproduction& reproduction) {
  std::string text = fmt::format(
      "peaks with resident bytes; saves: against the program; the mean is {}; all searches take "
      "{:.1f} ms\nOLLA: > 30 % on average over its networks, order and fragmentation together, "
      "median < 10 s\n",
      percent(reproduction.mean_saving(), 1), 1e3 * reproduction.seconds());
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

double OllaReproduction::mean_saving() const {
  double sum = 0;
  for (const OllaRow& row : rows) sum += row.optimal.saving();
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

double OllaReproduction::seconds() const {
  double sum = 0;
  for (const OllaRow& row : rows) sum += row.optimal.answer.seconds;
  return sum;
}

OllaReproduction reproduce_olla(const OllaOptions& options) {
  OllaReproduction reproduction;
  for (const std::string_view text : network_graphs()) {
    reproduction.rows.push_back(row_of(text, options));
  }
  return reproduction;
}

std::string olla_text(const OllaReproduction& reproduction) {
  return "OLLA (Steiner et al. 2022, arXiv:2210.12924): the order of a training step's ops\n\n" +
         table_text(reproduction) + summary_text(reproduction) + "\n" + cuts_text(reproduction);
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
          {"published", "what others report for this step", &OllaRow::published}};
}

Rows<OllaReproduction> rows(const OllaReproduction*) {
  return {{"paper", "olla", [](auto&) { return "olla"; }},
          {"source", "authors, year, number", [](auto&) { return kOllaSource; }},
          {"mean_saving", kShare, "of the program's peak, over all steps",
           &OllaReproduction::mean_saving},
          {"seconds", kSeconds, "of all searches", &OllaReproduction::seconds},
          {"rows", "one object a step", &OllaReproduction::rows}};
}

std::string olla_page(const OllaReproduction& reproduction) {
  Json data = to_json(reproduction);
  for (std::size_t i = 0; i < reproduction.rows.size(); ++i) {
    data["rows"][i].update(to_json(view_of(reproduction.rows[i])));
  }
  return render_page(kOllaPage, "OLLA's order and ours", data.dump());
}

}  // namespace skyline
