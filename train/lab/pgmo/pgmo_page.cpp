#include <nlohmann/json.hpp>

#include "memory/alignment.h"
#include "train/lab/pgmo/pgmo.h"
#include "train/lab/plan_answer.h"
#include "train/report/explanation.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kPgmoPage;  // PGMO's figures

namespace {

constexpr std::string_view kPgmoSource = "Sekiyama et al. 2018, arXiv:1804.10001";

// Five blocks that show each move of the paper's figure 1, whose boxes have no sizes: a choice of
// the lowest line, a placement, and a lift where nothing fits.
std::string figure_1_page() {
  const Trace trace{.blocks = {{0, 7, 2}, {7, 10, 1}, {4, 10, 2}, {0, 4, 1}, {7, 9, 3}}};
  BestFitLog log;
  const Plan plan = skyline::plan(trace, "best-fit", {.alignment = 1, .log = &log});
  const PlanExplanation story = explain_plan(trace, 1, BestFitKey::kLifetime, log);
  return render_explanation({trace, plan, story, "PGMO's figure 1"});
}

}  // namespace

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
          {"exact_pool", kNumber, "ours if the paper's pool was the exact-size pool",
           &PgmoFigure::exact_pool},
          {"as_chainer", kNumber, "of ops as Chainer 3 has them", &PgmoFigure::as_chainer},
          {"as_chainer_exact_pool", kNumber, "both", &PgmoFigure::chainer_exact_pool},
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

Rows<PgmoMemory> rows(const PgmoMemory*) {
  return {{"resident_bytes", kBytes, "that live across steps", &PgmoMemory::resident_bytes},
          {"network_wise", kBytes, "reserved without reuse; like the next three with resident ones",
           &PgmoMemory::network_wise_bytes},
          {"exact_pool", kBytes, "reserved by the pool of Chainer up to 1.24",
           &PgmoMemory::exact_pool_bytes},
          {"pool", kBytes, "reserved by the pool of Chainer 3", &PgmoMemory::pool_bytes},
          {"planned", kBytes, "reserved with the plan", &PgmoMemory::planned_bytes},
          {"planned_step", kBytes, "peak of the heuristic's plan", &PgmoMemory::heuristic_bytes},
          {"saving", kShare, "against the pool", &PgmoMemory::saving},
          {"saving_against_exact_pool", kShare, "against the exact-size pool",
           &PgmoMemory::saving_against_exact_pool},
          {"mini_batches", "of seq2seq: all of different shapes", &PgmoMemory::mini_batches}};
}

Rows<PgmoParts> rows(const PgmoParts*) {
  return {{"at_peak", "bytes alive when most are", &PgmoParts::at_peak},
          {"pool", "bytes that the pool took to serve these ops", &PgmoParts::pool},
          {"exact_pool", "those of the exact-size pool", &PgmoParts::exact_pool}};
}

Rows<PgmoRow> rows(const PgmoRow*) {
  return {{"network", "the network", &PgmoRow::network},
          {"mode", "training or inference", [](auto& row) { return pgmo_mode_name(row.mode); }},
          {"batch_size", kCount, "images or sentences", &PgmoRow::batch_size},
          {"", "our ops", &PgmoRow::ours},
          {"as_chainer", "ops as Chainer 3 has them", &PgmoRow::as_chainer},
          {"as_chainer_parts", "of the step as Chainer, by op", &PgmoRow::chainer_parts},
          {"best_plan_step", kBytes, "peak of the best known plan", &PgmoRow::best_plan_bytes},
          {"proved_optimal", "the best known plan is", &PgmoRow::proved_optimal},
          {"blocks", kCount, "requests of the step", &PgmoRow::blocks},
          {"heuristic_seconds", kSeconds, "of the heuristic, median", &PgmoRow::heuristic_seconds},
          {"mip", "what the solver says of the paper's program; null: not asked", &PgmoRow::mip}};
}

Rows<PgmoRatio> rows(const PgmoRatio*) {
  return {{"batch_size", kCount, "of both networks", &PgmoRatio::batch_size},
          {"allocator", "of both networks", &PgmoRatio::allocator},
          {"ours", kNumber, "Inception-ResNet's bytes over AlexNet's", &PgmoRatio::ours},
          {"as_chainer", kNumber, "the same of ops as Chainer 3 has them", &PgmoRatio::as_chainer}};
}

Rows<PgmoReproduction> rows(const PgmoReproduction*) {
  return {
      {"paper", "pgmo", [](auto&) { return "pgmo"; }},
      {"source", "authors, year, number", [](auto&) { return kPgmoSource; }},
      {"workspace", kBytes, "that each convolution asks for",
       [](auto& all) { return all.options.workspace_bytes; }},
      {"alignment", kBytes, "sizes are rounded to multiples of it",
       [](auto&) { return kAlignmentBytes; }},
      {"figures", "the paper's figures beside ours", &PgmoReproduction::figures},
      {"rows", "one object for each network and batch", &PgmoReproduction::rows},
      {"ratios", "of Inception-ResNet to AlexNet in training, by batch and allocator",
       &PgmoReproduction::ratios},
      {"first_networks", "that save most in training",
       [](auto& all) { return first_networks(all.rows); }},
      {"times", "figure 3 by the device at hand; null without --measure", &PgmoReproduction::times},
      {"growth_exponent", kNumber, "of the heuristic's time in the number of blocks",
       &PgmoReproduction::growth_exponent},
      {"seconds", kSeconds, "of the command", &PgmoReproduction::seconds}};
}

std::string pgmo_page(const PgmoReproduction& reproduction) {
  using Json = nlohmann::ordered_json;
  Json data = to_json(reproduction);
  for (const PgmoSection& section : pgmo_sections(reproduction)) {
    Json shown{{"title", section.title}, {"note", section.note}};
    if (section.table) {
      for (const Table::Column& column : section.table->columns()) {
        shown["columns"].push_back({{"title", column.title}, {"is_text", column.is_text}});
      }
      shown["rows"] = section.table->rows();
    }
    data["sections"].push_back(std::move(shown));
  }
  data["figure_1"] = figure_1_page();
  return render_page(kPgmoPage, "PGMO's figures and ours", data.dump());
}

}  // namespace skyline
