#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/lab/pgmo/pgmo.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kPgmoPage;  // PGMO's figures

namespace {

constexpr std::string_view kPgmoSource = "Sekiyama et al. 2018, arXiv:1804.10001";

std::string mode_name(Mode mode) { return mode == Mode::kTraining ? "training" : "inference"; }

// Numbers the notes and lists each once.
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
      text += fmt::format("{} {}\n", i + 1, wrapped(notes_[i], 76, "  "));
    }
    return text;
  }

 private:
  std::vector<std::string> notes_;
};

std::string figures_text(const PgmoReproduction& reproduction) {
  Table table("<figure | <section | paper | ours | or, exact-pool | difference | note");
  Notes notes;
  for (const PgmoFigure& figure : reproduction.figures) {
    const std::string relation = figure.relation.empty() ? "" : figure.relation + " ";
    table.add_row({figure.what, figure.section, relation + figure_text(figure.unit, figure.paper),
                   figure.ours ? figure_text(figure.unit, *figure.ours) : "",
                   figure.against_exact_pool ? percent(*figure.against_exact_pool, 1) : "",
                   difference_text(figure), notes.mark(figure.note)});
  }
  return table.str() +
         "or, exact-pool: our saving if the paper's pool was the exact-size pool; differences are "
         "to ours\n" +
         notes.text();
}

std::string memory_text(const PgmoReproduction& reproduction) {
  Table table(
      "<network | <step | resident | network-wise | exact-pool | pool | planned | its step | saves "
      "| or");
  for (const PgmoRow& row : reproduction.rows) {
    table.add_row({row.network, fmt::format("{} {}", mode_name(row.mode), row.batch_size),
                   format_bytes(row.resident_bytes), format_bytes(row.network_wise_bytes),
                   format_bytes(row.exact_pool_bytes), format_bytes(row.pool_bytes),
                   format_bytes(row.planned_bytes()), format_bytes(row.heuristic_bytes),
                   percent(row.saving(), 1), percent(row.saving_against_exact_pool(), 1)});
  }
  return table.str() +
         "all but its step with resident memory; pool: that of Chainer 3, exact-pool: up to "
         "1.24;\nsaves: against the pool, or against exact-pool; seq2seq: after ten mini-batches, "
         "planned by the policy "
         "grow\n";
}

// Returns how far `bytes` is above the peak of live bytes.
std::string above(std::uint64_t bytes, std::uint64_t least) {
  return fmt::format("+{:.1f} %",
                     100 * (static_cast<double>(bytes) / static_cast<double>(least) - 1));
}

std::string mini_batches_text(const PgmoReproduction& reproduction) {
  Table table(
      "<step | alive at most | exact-pool | pool | grow | re-plans | upper-bound | takes: "
      "exact-pool | pool | upper-bound");
  for (const PgmoRow& row : reproduction.rows) {
    if (!row.mini_batches) continue;
    const PgmoMiniBatches& ran = *row.mini_batches;
    const auto over = [&](const char* name) {
      return above(ran.arm(name).reserved_bytes, ran.live_bytes);
    };
    const auto takes = [&](const char* name) {
      return std::to_string(ran.arm(name).device_allocations);
    };
    table.add_row({fmt::format("{} {}", mode_name(row.mode), row.batch_size),
                   format_bytes(ran.live_bytes), over("exact-pool"), over("best-fit-pool"),
                   over("planned-grow"), std::to_string(ran.arm("planned-grow").replans),
                   over("planned-upper-bound"), takes("exact-pool"), takes("best-fit-pool"),
                   takes("planned-upper-bound")});
  }
  return table.str() +
         "ten mini-batches one after the other, each of another shape: sentences of 1 to 50 words, "
         "as\nlong as those of WMT's development sets; reserved above what is alive at most, "
         "resident memory\nincluded; takes: device allocations after the first mini-batch; grow "
         "plans anew when a request\ngrows, upper-bound plans dry runs of all of them "
         "beforehand\n";
}

std::string planning_text(const PgmoReproduction& reproduction) {
  Table table("<network | <step | blocks | heuristic | a block | above the best plan | <best plan");
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

}  // namespace

std::string figure_text(PgmoFigure::Unit unit, double value) {
  switch (unit) {
    case PgmoFigure::Unit::kBytes:
      return format_count(std::llround(value));
    case PgmoFigure::Unit::kGigabytes:
      return fmt::format("{:.2f} GB", value / 1e9);
    case PgmoFigure::Unit::kTimes:
      return fmt::format("{:.2f} x", value);
    case PgmoFigure::Unit::kShare:
      break;
  }
  return percent(value, 1);
}

std::string difference_text(const PgmoFigure& figure) {
  if (!figure.ours) return "not measured";
  const double ours = *figure.ours;
  if (!figure.relation.empty()) {
    const bool at_most = figure.relation == "at most";
    return (ours <= figure.paper) == at_most ? "holds" : "does not hold";
  }
  if (ours == figure.paper) return "equal";
  if (figure.unit == PgmoFigure::Unit::kShare) {
    return fmt::format("{:+.1f} points", 100 * (ours - figure.paper));
  }
  return fmt::format("{:+.1f} %", 100 * (ours / figure.paper - 1));
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
         memory_text(reproduction) + "\nseq2seq, whose every mini-batch has another shape\n\n" +
         mini_batches_text(reproduction) + "\ntime of the heuristic (the paper's figure 4)\n\n" +
         planning_text(reproduction);
}

Rows<PgmoFigure> rows(const PgmoFigure*) {
  return {{"figure", "what it is", &PgmoFigure::what},
          {"section", "of the paper", &PgmoFigure::section},
          {"unit", "bytes, share or times",
           [](auto& figure) {
             constexpr const char* kNames[] = {"bytes", "bytes", "share", "times"};
             return kNames[static_cast<std::size_t>(figure.unit)];
           }},
          {"relation", "of the paper's figure: equal to, at most or above",
           [](auto& figure) { return figure.relation.empty() ? "equal to" : figure.relation; }},
          {"paper", kNumber, "its figure", &PgmoFigure::paper},
          {"ours", kNumber, "null: not measured", &PgmoFigure::ours},
          {"ours_against_exact_pool", kShare, "our saving if theirs was the exact-size pool",
           &PgmoFigure::against_exact_pool},
          {"difference", "in words", difference_text},
          {"note", "why the two may differ", &PgmoFigure::note}};
}

Rows<PgmoArm> rows(const PgmoArm*) {
  return {{"peak_reserved", kBytes, "the most taken from the device, resident bytes included",
           &PgmoArm::reserved_bytes},
          {"device_allocations_after_first", kCount, "after the first mini-batch",
           &PgmoArm::device_allocations},
          {"replans", kCount, "plans that were made anew", &PgmoArm::replans}};
}

Rows<PgmoMiniBatches> rows(const PgmoMiniBatches*) {
  return {
      {"count", kCount, "of mini-batches", &PgmoMiniBatches::count},
      {"live_bytes", kBytes, "alive at most, resident ones included", &PgmoMiniBatches::live_bytes},
      {"allocators", "the mini-batches under each", [](auto& ran) {
         std::vector<std::pair<std::string, PgmoArm>> arms;
         for (const PgmoArm& arm : ran.arms) arms.emplace_back(arm.allocator, arm);
         return arms;
       }}};
}

Rows<PgmoRow> rows(const PgmoRow*) {
  return {{"network", "the network", &PgmoRow::network},
          {"mode", "training or inference", [](auto& row) { return mode_name(row.mode); }},
          {"batch_size", kCount, "images or sentences", &PgmoRow::batch_size},
          {"resident_bytes", kBytes, "that live across steps", &PgmoRow::resident_bytes},
          {"network_wise", kBytes, "reserved without reuse; like the next three with resident ones",
           &PgmoRow::network_wise_bytes},
          {"exact_pool", kBytes, "reserved by the pool of Chainer up to 1.24",
           &PgmoRow::exact_pool_bytes},
          {"pool", kBytes, "reserved by the pool of Chainer 3", &PgmoRow::pool_bytes},
          {"planned", kBytes, "reserved with the plan", &PgmoRow::planned_bytes},
          {"planned_step", kBytes, "peak of the heuristic's plan", &PgmoRow::heuristic_bytes},
          {"best_plan_step", kBytes, "peak of the best known plan", &PgmoRow::best_plan_bytes},
          {"proved_optimal", "the best known plan is", &PgmoRow::proved_optimal},
          {"saving", kShare, "against the pool", &PgmoRow::saving},
          {"saving_against_exact_pool", kShare, "against the exact-size pool",
           &PgmoRow::saving_against_exact_pool},
          {"blocks", kCount, "requests of the step", &PgmoRow::blocks},
          {"heuristic_seconds", kSeconds, "of the heuristic, median", &PgmoRow::heuristic_seconds},
          {"mini_batches", "of seq2seq: all of different shapes", &PgmoRow::mini_batches}};
}

Rows<PgmoReproduction> rows(const PgmoReproduction*) {
  return {{"paper", "pgmo", [](auto&) { return "pgmo"; }},
          {"source", "authors, year, number", [](auto&) { return kPgmoSource; }},
          {"workspace", kBytes, "that each convolution asks for",
           [](auto& all) { return all.options.workspace_bytes; }},
          {"alignment", kBytes, "sizes are rounded to multiples of it",
           [](auto&) { return kAlignmentBytes; }},
          {"figures", "the paper's figures beside ours", &PgmoReproduction::figures},
          {"rows", "one object for each network and batch", &PgmoReproduction::rows},
          {"growth_exponent", kNumber, "of the heuristic's time in the number of blocks",
           &PgmoReproduction::growth_exponent},
          {"seconds", kSeconds, "of the command", &PgmoReproduction::seconds}};
}

std::string pgmo_page(const PgmoReproduction& reproduction) {
  using Json = nlohmann::ordered_json;
  Json data = to_json(reproduction);
  for (std::size_t i = 0; i < reproduction.figures.size(); ++i) {
    const PgmoFigure& figure = reproduction.figures[i];
    const std::string paper = figure_text(figure.unit, figure.paper);
    data["figures"][i]["paper_text"] =
        figure.relation.empty() ? paper : figure.relation + " " + paper;
    data["figures"][i]["ours_text"] = figure.ours ? figure_text(figure.unit, *figure.ours) : "–";
  }
  return render_page(kPgmoPage, "PGMO's figures and ours", data.dump());
}

}  // namespace skyline
