#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/lab/together/together.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kTogetherPage;  // one step under all works

std::string together_text(const Together& together) {
  const DryRunOptions& program = together.options.program;
  std::string text = fmt::format(
      "One training step of {} with {} samples, {} requests of {} ops, without resident bytes.\n"
      "No plan of the recorded step needs less than {}, none of any order less than {}.\n\n",
      program.model, format_count(program.batch_size),
      format_count(static_cast<std::int64_t>(together.requests)),
      format_count(static_cast<std::int64_t>(together.ops)), format_bytes(together.step_bound),
      format_bytes(together.bound));
  Table table(
      "<work | <row | bytes | above | calls | later | a request | <needs | <another shape | "
      "<status");
  for (const TogetherRow& row : together.rows) {
    table.add_row({row.work, row.name, format_bytes(row.bytes), percent(row.above_bound, 1),
                   format_count(static_cast<std::int64_t>(row.first_calls)),
                   fmt::format("{:g}", row.later_calls), fmt::format("{:.0f} ns", row.nanoseconds),
                   row.needs, row.shapes, row.status});
  }
  text += table.str() +
          "above: the bound of every order; calls: of the device in the first step, and in a later "
          "one;\na request: with its free, the fastest of some steps; plans are served by one "
          "arena\n\n";
  for (const TogetherRow& row : together.rows) {
    text += fmt::format("{} ({}): {}\n", row.name, row.work, row.adds);
  }
  return together.left_out ? text + fmt::format("left out: {}\n", *together.left_out) : text;
}

Rows<TogetherRow> rows(const TogetherRow*) {
  return {{"work", "whose idea it is", &TogetherRow::work},
          {"name", "of the allocator, planner or order", &TogetherRow::name},
          {"bytes", kBytes, "that the step takes", &TogetherRow::bytes},
          {"above_bound", kShare, "more than the bound of all orders", &TogetherRow::above_bound},
          {"first_calls", kCount, "of the device in the first step", &TogetherRow::first_calls},
          {"later_calls", kNumber, "of the device in a later step", &TogetherRow::later_calls},
          {"nanoseconds", kNanoseconds, "of a request and its free", &TogetherRow::nanoseconds},
          {"needs", "what must be known beforehand: nothing, the graph or a recorded step",
           &TogetherRow::needs},
          {"shapes", "how it bears another shape", &TogetherRow::shapes},
          {"status", "what is proved", &TogetherRow::status},
          {"adds", "what the idea adds", &TogetherRow::adds}};
}

Rows<Together> rows(const Together*) {
  return {
      {"paper", "together", [](auto&) { return "together"; }},
      {"model", "the network", [](auto& all) { return all.options.program.model; }},
      {"batch_size", kCount, "samples", [](auto& all) { return all.options.program.batch_size; }},
      {"requests", kCount, "of the recorded step", &Together::requests},
      {"ops", kCount, "of the step", &Together::ops},
      {"step_bound", kBytes, "no plan of the recorded step needs less", &Together::step_bound},
      {"bound", kBytes, "no plan of any order needs less, if nothing is recomputed",
       &Together::bound},
      {"rows", "the step under each work", &Together::rows},
      {"left_out", "why PGMO's program is no row; null: it is", &Together::left_out},
      {"seconds", kSeconds, "of the command", &Together::seconds}};
}

std::string together_page(const Together& together) {
  nlohmann::ordered_json data = to_json(together);
  data["live"] = together.live;
  for (std::size_t k = 0; k < together.rows.size(); ++k) {
    data["rows"][k]["curve"] = together.rows[k].curve;
  }
  const DryRunOptions& program = together.options.program;
  return render_page(
      kTogetherPage,
      fmt::format("{} with {} samples, under all works", program.model, program.batch_size),
      page_text(data));
}

}  // namespace skyline
