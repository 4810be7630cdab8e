// Figures and text of the reproduction.

#include <fmt/format.h>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/lab/olla/olla.h"

namespace skyline {
namespace {

constexpr std::string_view kSource = "Steiner et al. 2022, arXiv:2210.12924";
constexpr double kHardlyAny = 0.01;  // share of the program's peak

std::string published_text(const OllaRow& row) {
  return row.published ? percent(row.published->saving(), 1) : std::string();
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

}  // namespace

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
          {"source", "authors, year, number", [](auto&) { return kSource; }},
          {"mean_saving", kShare, "of the program's peak, over all steps",
           &OllaReproduction::mean_saving},
          {"seconds", kSeconds, "of all searches", &OllaReproduction::seconds},
          {"rows", "one object a step", &OllaReproduction::rows}};
}

}  // namespace skyline
