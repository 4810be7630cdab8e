#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/lab/pgmo/pgmo.h"

namespace skyline {

namespace {

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

PgmoSection figures_section(const PgmoReproduction& reproduction) {
  Table table(
      "<figure | <section | paper | ours | or, exact-pool | as Chainer | or, its exact-pool | "
      "difference | note");
  Notes notes;
  for (const PgmoFigure& figure : reproduction.figures) {
    const auto cell = [&](const std::optional<double>& value) {
      return value ? figure_text(figure.unit, *value) : "";
    };
    table.add_row({figure.what, figure.section, paper_text(figure), cell(figure.ours),
                   cell(figure.exact_pool), cell(figure.as_chainer),
                   cell(figure.chainer_exact_pool), difference_text(figure),
                   notes.mark(figure.note)});
  }
  return {"the paper's figures and ours", std::move(table),
          "or, exact-pool: if the paper's pool was the exact-size pool; as Chainer: nothing is\n"
          "written in place, every relu is an op of its own, gradients are added as they arrive,\n"
          "an LSTM packs its weights in each call; differences are ours to the paper's\n" +
              notes.text()};
}

std::string step_name(const PgmoRow& row) {
  return fmt::format("{} {}", pgmo_mode_name(row.mode), row.batch_size);
}

Table memory_table(const std::vector<PgmoRow>& rows, PgmoMemory PgmoRow::*column) {
  Table table(
      "<network | <step | resident | network-wise | exact-pool | pool | planned | its step | saves "
      "| or");
  for (const PgmoRow& row : rows) {
    const PgmoMemory& memory = row.*column;
    table.add_row({row.network, step_name(row), format_bytes(memory.resident_bytes),
                   format_bytes(memory.network_wise_bytes), format_bytes(memory.exact_pool_bytes),
                   format_bytes(memory.pool_bytes), format_bytes(memory.planned_bytes()),
                   format_bytes(memory.heuristic_bytes), percent(memory.saving(), 1),
                   percent(memory.saving_against_exact_pool(), 1)});
  }
  return table;
}

// Splits the steps that the paper has figures of.
std::string parts_text(const std::vector<PgmoRow>& rows) {
  constexpr std::pair<std::string_view, std::int64_t> kNamed[] = {
      {"alexnet", 32}, {"googlenet", 1}, {"resnet50", 1}, {"inception-resnet", 64}, {"seq2seq", 1}};
  std::string text =
      "the step as Chainer by op: alive at the peak, and what each pool took from the device\n";
  for (const PgmoRow& row : rows) {
    if (std::ranges::find(kNamed, std::pair{std::string_view(row.network), row.batch_size}) ==
        std::end(kNamed)) {
      continue;
    }
    const auto add = [&](std::string line, const PgmoParts::ByOp& parts) {
      for (const auto& [op, bytes] : parts) {
        line += fmt::format("{} {} {}", line.ends_with(':') ? "" : ",", op, format_bytes(bytes));
      }
      text += "  " + wrapped(line, 94, "    ") + "\n";
    };
    text += row_name(row) + "\n";
    add("peak:", row.chainer_parts.at_peak);
    add("pool:", row.chainer_parts.pool);
    add("exact-pool:", row.chainer_parts.exact_pool);
  }
  return text;
}

Table ratios_table(const PgmoReproduction& reproduction) {
  Table table("batch | <allocator | ours | as Chainer");
  for (const PgmoRatio& ratio : reproduction.ratios) {
    table.add_row({std::to_string(ratio.batch_size), ratio.allocator,
                   figure_text(PgmoFigure::Unit::kTimes, ratio.ours),
                   figure_text(PgmoFigure::Unit::kTimes, ratio.as_chainer)});
  }
  return table;
}

// Returns how far `bytes` is above the peak of live bytes.
std::string above(std::uint64_t bytes, std::uint64_t least) {
  return fmt::format("+{:.1f} %",
                     100 * (static_cast<double>(bytes) / static_cast<double>(least) - 1));
}

PgmoSection mini_batches_section(const PgmoReproduction& reproduction) {
  Table table(
      "<step | alive at most | exact-pool | pool | grow | re-plans | upper-bound | takes: "
      "exact-pool | pool | upper-bound");
  for (const PgmoRow& row : reproduction.rows) {
    if (!row.ours.mini_batches) continue;
    const PgmoMiniBatches& ran = *row.ours.mini_batches;
    const auto over = [&](const char* name) {
      return above(ran.arm(name).reserved_bytes, ran.live_bytes);
    };
    const auto takes = [&](const char* name) {
      return std::to_string(ran.arm(name).device_allocations);
    };
    table.add_row({step_name(row), format_bytes(ran.live_bytes), over("exact-pool"),
                   over("best-fit-pool"), over("planned-grow"),
                   std::to_string(ran.arm("planned-grow").replans), over("planned-upper-bound"),
                   takes("exact-pool"), takes("best-fit-pool"), takes("planned-upper-bound")});
  }
  return {
      "seq2seq, whose every mini-batch has another shape", std::move(table),
      "ten mini-batches one after the other, each of another shape: sentences of 1 to 50 words, "
      "as\nlong as those of WMT's development sets; reserved above what is alive at most, "
      "resident memory\nincluded; takes: device allocations after the first mini-batch; grow "
      "plans anew when a request\ngrows, upper-bound plans dry runs of all of them "
      "beforehand\n"};
}

std::string mip_text(const std::optional<SolverReport>& report) {
  if (!report) return {};
  const std::string bound =
      report->bound ? format_count(static_cast<std::int64_t>(*report->bound)) : "none";
  return fmt::format("{}: {} in {}, bound {}", report->solver, report->status,
                     format_seconds(report->seconds), bound);
}

PgmoSection planning_section(const PgmoReproduction& reproduction) {
  Table table(
      "<network | <step | blocks | heuristic | a block | above the best plan | <best plan | <MIP");
  for (const PgmoRow& row : reproduction.rows) {
    const double above =
        static_cast<double>(row.ours.heuristic_bytes) / static_cast<double>(row.best_plan_bytes) -
        1;
    table.add_row(
        {row.network, step_name(row), format_count(static_cast<std::int64_t>(row.blocks)),
         fmt::format("{:.3f} ms", 1e3 * row.heuristic_seconds),
         fmt::format("{:.0f} ns", 1e9 * row.heuristic_seconds / static_cast<double>(row.blocks)),
         above > 0 ? fmt::format("{:.2f} %", 100 * above) : "0",
         row.proved_optimal ? "proved optimal" : "best known", mip_text(row.mip)});
  }
  std::string note =
      "MIP: the paper's program of section 3 on the two instances on which CPLEX found in an hour\n"
      "no better plan than the heuristic's\n";
  if (reproduction.growth_exponent) {
    note += fmt::format(
        "the heuristic's time grows with the number of blocks to the power of {:.2f}; a larger "
        "batch\nasks for as many blocks, only larger ones\n",
        *reproduction.growth_exponent);
  }
  return {"time of the heuristic (the paper's figure 4)", std::move(table), std::move(note)};
}

}  // namespace

std::string pgmo_mode_name(Mode mode) { return mode == Mode::kTraining ? "training" : "inference"; }

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

std::string paper_text(const PgmoFigure& figure) {
  const std::string paper = figure_text(figure.unit, figure.paper);
  return figure.relation.empty() ? paper : figure.relation + " " + paper;
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
  return fmt::format("{}, {}, batch {}", row.network, pgmo_mode_name(row.mode), row.batch_size);
}

std::vector<PgmoSection> pgmo_sections(const PgmoReproduction& reproduction) {
  const std::vector<PgmoRow>& rows = reproduction.rows;
  std::vector<PgmoSection> sections;
  sections.push_back(figures_section(reproduction));
  sections.push_back(
      {"memory (the paper's figure 2)", memory_table(rows, &PgmoRow::ours),
       "all but its step with resident memory; pool: that of Chainer 3, exact-pool: up to 1.24;\n"
       "saves: against the pool, or against exact-pool; seq2seq: after ten mini-batches, planned\n"
       "by the policy grow\n"});
  sections.push_back({"the same as Chainer", memory_table(rows, &PgmoRow::as_chainer),
                      parts_text(rows) +
                          "the network whose training saves most, Inception-ResNet in the paper: " +
                          first_networks(rows) + "\n"});
  sections.push_back({"Inception-ResNet's memory in AlexNet's, training",
                      ratios_table(reproduction), "12.5 in the paper's section 1\n"});
  sections.push_back(mini_batches_section(reproduction));
  for (PgmoSection& section : pgmo_times_sections(reproduction.times)) {
    sections.push_back(std::move(section));
  }
  sections.push_back(planning_section(reproduction));
  return sections;
}

std::string pgmo_text(const PgmoReproduction& reproduction) {
  std::string text = fmt::format(
      "PGMO (Sekiyama et al. 2018, arXiv:1804.10001): its figures and ours\n"
      "memory by dry run; every convolution asks for {} of workspace, sizes are rounded\n"
      "to 512 bytes\n",
      format_bytes(reproduction.options.workspace_bytes));
  for (const PgmoSection& section : pgmo_sections(reproduction)) {
    text += fmt::format("\n{}\n\n{}{}", section.title, section.table ? section.table->str() : "",
                        section.note);
  }
  return text;
}

}  // namespace skyline
