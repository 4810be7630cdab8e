// Text and JSON of the reproduction.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/lab/olla/olla.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHardlyAny = 0.01;  // share of the program's peak

// Avoids "-0.0 %".
std::string percent(double share) {
  const double percent = std::round(1000 * share) / 10;
  return fmt::format("{:.1f} %", percent == 0 ? 0 : percent);
}

std::string published_text(const OllaRow& row) {
  return row.published ? percent(row.published->saving()) : std::string();
}

std::string table_text(const OllaReproduction& reproduction) {
  Table table({{"step", Align::kLeft},
               {"ops"},
               {"program"},
               {"early"},
               {"late"},
               {"Inductor"},
               {"XLA"},
               {"optimal"},
               {"bound"},
               {"proved", Align::kLeft},
               {"saves"},
               {"OLLA's"},
               {"time"}});
  for (const OllaRow& row : reproduction.rows) {
    const OrderResult& optimal = row.optimal;
    table.add_row({optimal.file.name, std::to_string(optimal.answer.order.size()),
                   format_bytes(optimal.program), format_bytes(optimal.early),
                   format_bytes(optimal.late), format_bytes(row.inductor), format_bytes(row.xla),
                   format_bytes(optimal.peak()), format_bytes(optimal.lower_bound()),
                   optimal.answer.proved_optimal ? "yes" : "no", percent(optimal.saving()),
                   published_text(row), fmt::format("{:.2f} ms", 1e3 * optimal.answer.seconds)});
  }
  return table.str();
}

std::string summary_text(const OllaReproduction& reproduction) {
  std::string text = fmt::format(
      "peaks with resident bytes; saves: against the program; the mean is {}; all searches take "
      "{:.1f} ms\nOLLA: > 30 % on average over its networks, order and fragmentation together, "
      "median < 10 s\n",
      percent(reproduction.mean_saving()), 1e3 * reproduction.seconds());
  for (const OllaRow& row : reproduction.rows) {
    if (!row.published) continue;
    text += fmt::format("{}: {} {:.4f} -> {:.4f} GiB, {}; ours {:.4f} GiB, {}\n",
                        row.optimal.file.name, row.published->source, row.published->before_gib,
                        row.published->after_gib, percent(row.published->saving()),
                        static_cast<double>(row.optimal.peak()) / (1 << 30),
                        percent(row.optimal.saving()));
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

Json row_json(const OllaRow& row) {
  Json json = row.optimal.json();
  json["inductor"] = row.inductor;
  json["xla"] = row.xla;
  json["published"] = nullptr;
  if (row.published) {
    json["published"] = {{"source", row.published->source},
                         {"before_gib", row.published->before_gib},
                         {"after_gib", row.published->after_gib},
                         {"saving", row.published->saving()}};
  }
  return json;
}

}  // namespace

std::string olla_text(const OllaReproduction& reproduction) {
  return "OLLA (Steiner et al. 2022, arXiv:2210.12924): the order of a training step's ops\n\n" +
         table_text(reproduction) + summary_text(reproduction) + "\n" + cuts_text(reproduction);
}

Json to_json(const OllaReproduction& reproduction) {
  Json rows = Json::array();
  for (const OllaRow& row : reproduction.rows) rows.push_back(row_json(row));
  return {{"paper", "olla"},
          {"source", "Steiner et al. 2022, arXiv:2210.12924"},
          {"mean_saving", reproduction.mean_saving()},
          {"seconds", reproduction.seconds()},
          {"rows", std::move(rows)}};
}

}  // namespace skyline
