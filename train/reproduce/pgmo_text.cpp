// The reproduction in words: text and JSON.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "train/reproduce/pgmo.h"
#include "train/sizes.h"
#include "train/table.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

std::string mode_name(Mode mode) { return mode == Mode::kTraining ? "training" : "inference"; }

// Without a sign before 0.0.
std::string percent(double share) {
  const double percent = std::round(1000 * share) / 10;
  return fmt::format("{:.1f} %", percent == 0 ? 0 : percent);
}

// Notes once each, by their numbers.
class Notes {
 public:
  std::string mark(const std::string& note) {
    if (note.empty()) return {};
    const auto found = std::ranges::find(notes_, note);
    const auto number = found - notes_.begin() + 1;
    if (found == notes_.end()) notes_.push_back(note);
    return std::to_string(number);
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      text += fmt::format("{} {}\n", i + 1, wrapped(notes_[i]));
    }
    return text;
  }

 private:
  // Lines of at most 78 columns, indented.
  static std::string wrapped(const std::string& note) {
    std::string text;
    std::size_t column = 2;
    for (std::size_t begin = 0; begin < note.size();) {
      const std::size_t end = std::min(note.find(' ', begin), note.size());
      const std::size_t width = end - begin;
      if (begin > 0) {
        const bool breaks = column + 1 + width > 78;
        text += breaks ? "\n  " : " ";
        column = breaks ? 2 : column + 1;
      }
      text.append(note, begin, width);
      column += width;
      begin = end + 1;
    }
    return text;
  }

  std::vector<std::string> notes_;
};

std::string figures_text(const PgmoReproduction& reproduction) {
  Table table({{"figure", Align::kLeft},
               {"section", Align::kLeft},
               {"paper"},
               {"ours"},
               {"difference"},
               {"note"}});
  Notes notes;
  for (const PgmoFigure& figure : reproduction.figures) {
    const std::string relation = figure.relation.empty() ? "" : figure.relation + " ";
    table.add_row({figure.what, figure.section, relation + figure_text(figure.unit, figure.paper),
                   figure_text(figure.unit, figure.ours), difference_text(figure),
                   notes.mark(figure.note)});
  }
  return table.str() + notes.text();
}

std::string memory_text(const PgmoReproduction& reproduction) {
  Table table({{"network", Align::kLeft},
               {"step", Align::kLeft},
               {"resident"},
               {"network-wise"},
               {"exact-pool"},
               {"pool"},
               {"planned"},
               {"its step"},
               {"saves"}});
  for (const PgmoRow& row : reproduction.rows) {
    table.add_row({row.network, fmt::format("{} {}", mode_name(row.mode), row.batch_size),
                   format_bytes(row.resident_bytes), format_bytes(row.network_wise_bytes),
                   format_bytes(row.exact_pool_bytes), format_bytes(row.pool_bytes),
                   format_bytes(row.planned_bytes()), format_bytes(row.heuristic_bytes),
                   percent(row.saving())});
  }
  return table.str() +
         "all but its step with resident memory; pool: that of Chainer 3, exact-pool: up to "
         "1.24;\nsaves: against the pool\n";
}

std::string planning_text(const PgmoReproduction& reproduction) {
  Table table({{"network", Align::kLeft},
               {"step", Align::kLeft},
               {"blocks"},
               {"heuristic"},
               {"a block"},
               {"above the best plan"},
               {"best plan", Align::kLeft}});
  for (const PgmoRow& row : reproduction.rows) {
    const double above =
        static_cast<double>(row.heuristic_bytes) / static_cast<double>(row.best_plan_bytes) - 1;
    table.add_row(
        {row.network, fmt::format("{} {}", mode_name(row.mode), row.batch_size),
         format_count(static_cast<std::int64_t>(row.blocks)),
         fmt::format("{:.3f} ms", 1e3 * row.heuristic_seconds),
         fmt::format("{:.0f} ns", 1e9 * row.heuristic_seconds / static_cast<double>(row.blocks)),
         above > 0 ? fmt::format("{:.2f} %", 100 * above) : "0",
         row.proved_optimal ? "proved optimal" : "best known"});
  }
  std::string text = table.str();
  if (reproduction.growth_exponent) {
    text += fmt::format(
        "the heuristic's time grows with the number of blocks to the power of {:.2f}; a larger "
        "batch\nasks for as many blocks, only larger ones\n",
        *reproduction.growth_exponent);
  }
  return text;
}

Json figure_json(const PgmoFigure& figure) {
  static constexpr const char* kUnitNames[] = {"bytes", "bytes", "share"};
  return {{"figure", figure.what},
          {"section", figure.section},
          {"unit", kUnitNames[static_cast<std::size_t>(figure.unit)]},
          {"relation", figure.relation.empty() ? Json("equal to") : Json(figure.relation)},
          {"paper", figure.paper},
          {"ours", figure.ours},
          {"difference", difference_text(figure)},
          {"note", figure.note}};
}

Json row_json(const PgmoRow& row) {
  return {{"network", row.network},
          {"mode", mode_name(row.mode)},
          {"batch_size", row.batch_size},
          {"resident_bytes", row.resident_bytes},
          {"network_wise", row.network_wise_bytes},
          {"exact_pool", row.exact_pool_bytes},
          {"pool", row.pool_bytes},
          {"planned", row.planned_bytes()},
          {"planned_step", row.heuristic_bytes},
          {"best_plan_step", row.best_plan_bytes},
          {"proved_optimal", row.proved_optimal},
          {"saving", row.saving()},
          {"blocks", row.blocks},
          {"heuristic_seconds", row.heuristic_seconds}};
}

}  // namespace

std::string figure_text(PgmoFigure::Unit unit, double value) {
  switch (unit) {
    case PgmoFigure::Unit::kBytes:
      return format_count(std::llround(value));
    case PgmoFigure::Unit::kGigabytes:
      return fmt::format("{:.2f} GB", value / 1e9);
    case PgmoFigure::Unit::kShare:
      break;
  }
  return percent(value);
}

std::string difference_text(const PgmoFigure& figure) {
  if (!figure.relation.empty()) {
    const bool at_most = figure.relation == "at most";
    return (figure.ours <= figure.paper) == at_most ? "holds" : "does not hold";
  }
  if (figure.ours == figure.paper) return "equal";
  if (figure.unit == PgmoFigure::Unit::kShare) {
    return fmt::format("{:+.1f} points", 100 * (figure.ours - figure.paper));
  }
  return fmt::format("{:+.1f} %", 100 * (figure.ours / figure.paper - 1));
}

std::string row_name(const PgmoRow& row) {
  return fmt::format("{}, {}, batch {}", row.network, mode_name(row.mode), row.batch_size);
}

std::string pgmo_text(const PgmoReproduction& reproduction) {
  return fmt::format(
             "PGMO (Sekiyama et al. 2018, arXiv:1804.10001): its figures and ours\n"
             "memory by dry run; every convolution asks for {} of workspace, sizes are rounded\n"
             "to 512 bytes\n\n",
             format_bytes(reproduction.options.workspace_bytes)) +
         figures_text(reproduction) + "\nmemory (the paper's figure 2)\n\n" +
         memory_text(reproduction) + "\ntime of the heuristic (the paper's figure 4)\n\n" +
         planning_text(reproduction);
}

Json to_json(const PgmoReproduction& reproduction) {
  Json figures = Json::array(), rows = Json::array();
  for (const PgmoFigure& figure : reproduction.figures) figures.push_back(figure_json(figure));
  for (const PgmoRow& row : reproduction.rows) rows.push_back(row_json(row));
  return {{"paper", "pgmo"},
          {"source", "Sekiyama et al. 2018, arXiv:1804.10001"},
          {"workspace", reproduction.options.workspace_bytes},
          {"alignment", kAlignmentBytes},
          {"figures", std::move(figures)},
          {"rows", std::move(rows)},
          {"growth_exponent",
           reproduction.growth_exponent ? Json(*reproduction.growth_exponent) : Json(nullptr)},
          {"seconds", reproduction.seconds}};
}

}  // namespace skyline
