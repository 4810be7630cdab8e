// The messages of a trainer about its plans, and the result of a run.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "framework/ranks/rank_group.h"
#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/json_text.h"
#include "train/lab/order/model_story.h"
#include "train/lab/order/program_graph.h"
#include "train/lab/order/step_order_view.h"
#include "train/report/run_summary.h"
#include "train/trainer.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// Most plans and deviations to print: if every step has another shape, there are very many. The log
// has them all.
constexpr std::uint64_t kEventsTold = 12;

Json sums_json(const std::optional<RankLane>& lane) {
  if (!lane) return nullptr;
  return {{"sums", lane->sums.size()},
          {"sum_seconds", lane->sum_seconds},
          {"wait_seconds", lane->wait_seconds}};
}

// Null where ops are not launched, or were timed one by one.
Json launches_json(const Launches& launches) {
  if (launches.ops == 0 && launches.graphs == 0) return nullptr;
  return {{"ops", launches.ops}, {"graphs", launches.graphs}};
}

}  // namespace

// Call this before an evaluation, which may switch the session to a plan of its own.
void Trainer::note_plan() {
  memory_ = memory_summary(*run_, options_.memory.allocator, device_allocations_at_switch_);
  if (session() == nullptr || session()->state() != Session::State::kPlanned) return;
  // If each batch has its own plan, result() shows the longest step instead.
  const bool plan_each_batch = options_.memory.policy == ShapePolicy::kPerShape ||
                               session()->session_statistics().adopted_plans > 0;
  if (plan_each_batch && !workload_->lengths_name().empty()) return;
  trace_ = session()->trace();
  plan_ = session()->plan();
}

// What progress says of a step.
std::string Trainer::note_of(const LoggedStep& step) const {
  std::string note = session() == nullptr ? "" : step.planned ? "planned" : "warm-up";
  if (rank_seconds_.empty()) return note;
  return note + (note.empty() ? "" : "  ") + slowest_rank();
}

// The rank that computed longest so far, and how much longer than a rank does on average.
std::string Trainer::slowest_rank() const {
  const auto slowest = std::ranges::max_element(rank_seconds_);
  const double mean = std::accumulate(rank_seconds_.begin(), rank_seconds_.end(), 0.0) /
                      static_cast<double>(rank_seconds_.size());
  return fmt::format("slowest rank {} (+{:.0f} %)", slowest - rank_seconds_.begin(),
                     mean > 0 ? 100 * (*slowest / mean - 1) : 0.0);
}

// The session calls this between steps. It counts evaluation steps too, so messages use the
// trainer's step number.
void Trainer::on_session_event(const SessionEvent& event) {
  using Kind = SessionEvent::Kind;
  const std::int64_t next_step = position_.step + 1;
  if (event.kind == Kind::kReplanFailed) {
    console_.warn("the device cannot hold the new plan, so all stays as it was: " + event.problem);
    return;
  }
  const bool of_evaluation = event.shape_key.kind == StepKind::kInference;
  if (event.kind == Kind::kAdopted && !of_evaluation) return;
  if (++events_told_ > kEventsTold) {
    if (events_told_ == kEventsTold + 1) console_.say("further re-plans go to log.jsonl only");
    return;
  }
  if (event.kind == Kind::kDeviated) {
    console_.warn(
        fmt::format("a step before step {} left its plan ({}, {} requests) and was served safely",
                    next_step, deviation_name(event.deviation->kind), event.deviation->count));
    return;
  }
  const std::string_view what = of_evaluation                   ? "planned the evaluation"
                                : event.kind == Kind::kSwitched ? "switched to the plan"
                                                                : "planned anew";
  console_.say(fmt::format(
      "{} before step {}: {} requests in {} (lower bound {}, gap {:.2f} %{}), planned in {:.2f} "
      "ms, checked in {:.2f} ms; reserved {} before, {} after: {}",
      what, next_step, event.blocks, format_bytes(event.peak), format_bytes(event.lower_bound),
      100 * event.gap, event.proved_optimal ? ", proved optimal" : "", 1e3 * event.planning_seconds,
      1e3 * event.validation_seconds, format_bytes(event.reserved_bytes_before),
      format_bytes(event.reserved_bytes_after),
      saving_sentence(event.reserved_bytes_before, event.reserved_bytes_after)));
}

void Trainer::add_order(RunSummary& summary, const DryRunFacts& step) {
  summary.graph = program_graph(in_program_sequence(step.step.graph, step.program_numbers),
                                options_.step.in_place, run_->resident_bytes());
  summary.order = step_order_view(step, options_.step);
  summary.story = model_story(step.step, summary.trace, options_);
  if (!options_.ranks.group) return;
  const RankGroup& group = *options_.ranks.group;
  const RankGroup::Seconds seconds = group.seconds();
  summary.ranks = {.ranks = group.ranks(),
                   .sums = {},
                   .sum_seconds = seconds.working,
                   .wait_seconds = seconds.waiting};
  if (summary.story) summary.ranks->sums = bucket_sums(step.step.graph, *summary.story);
}

CommandResult Trainer::result(int exit_code) {
  if (!memory_) note_plan();
  update_totals(*memory_, *run_, device_allocations_at_switch_);
  const DryRunFacts longest = workload_->longest_step(Mode::kTraining);
  const bool is_longest = same_lifetimes(trace_, longest.trace);
  if (!is_longest) {
    trace_ = longest.trace;
    plan_ = plan(trace_, options_.memory.planner, {}, all_planners());
  }
  if (memory_->blocks) set_plan(*memory_, trace_.size(), plan_);
  const ModelRun* run = run_.get();
  process_ = process_summary({&run, 1}, log_->history_bytes());
  const double loss = position_.batch > 0 ? mean_loss() : position_.more->value("last_loss", 0.0);
  RunSummary summary{.title = options_.model + " on " + workload_->data_name(),
                     .facts = {{"model", options_.model},
                               {"data", workload_->data_name()},
                               {"batch size", batch_text(options_.batch_size, step_batches_)},
                               {"steps", std::to_string(position_.step)},
                               {"loss", fmt::format("{:.4f}", loss)}},
                     .memory = *memory_,
                     .process = process_,
                     .trace = trace_,
                     .plan = plan_,
                     .budget = workload_->budget(),
                     .losses = log_->losses(),
                     .evaluations = {log_->metrics(), log_->evaluations()},
                     .steps = log_->chart(),
                     .step_seconds = log_->step_seconds_median(options_.memory.warmup_steps)};
  add_order(summary, longest);
  const std::string evaluation = evaluation_text();
  // Skips the leading ", ".
  if (!evaluation.empty()) summary.facts.push_back({"evaluation", evaluation.substr(2)});
  write_summary(summary, *directory_);
  directory_->check();

  CommandResult result;
  result.exit_code = exit_code;
  Json json = result_json(loss, exit_code != 0);
  result.text = summary_text(summary, console_.facts().width);
  json["trace_recorded"] = is_longest && options_.memory.policy != ShapePolicy::kUpperBound;
  json["rank_sums"] = sums_json(summary.ranks);
  if (summary.ranks) json["rank_sums"]["rank_seconds"] = rank_seconds_;
  workload_->add_facts(json, result.text);
  result.json = json_text(json);
  result.text += fmt::format("{} steps in {}, loss {:.4f}{}{}; run folder {}\n", position_.step,
                             format_duration(seconds_), loss, evaluation, log_->words().text(),
                             directory_->path().string());
  result.text += fmt::format("data wait: {:.3f} s (first batch), {:.3f} s (rest)\n",
                             log_->first_wait_seconds(), log_->later_wait_seconds());
  if (summary.ranks && options_.memory.device == "cpu") {
    result.text += fmt::format("sums over ranks: {:.3f} s, of which steps waited {:.3f} s\n",
                               summary.ranks->sum_seconds, summary.ranks->wait_seconds);
    result.text +=
        fmt::format("ranks computed {:.3f} s to {:.3f} s: {}\n", std::ranges::min(rank_seconds_),
                    std::ranges::max(rank_seconds_), slowest_rank());
  }
  if (exit_code != 0) {
    console_.warn(
        fmt::format("interrupted {} step {}; saved. Continue with: skyline train "
                    "--resume {}",
                    evaluation_due() ? "in the evaluation after" : "after", position_.step,
                    directory_->path().string()));
  }
  return result;
}

Json Trainer::result_json(double loss, bool interrupted) const {
  Json json = {{"model", options_.model},           {"data", workload_->data_name()},
               {"batch_size", options_.batch_size}, {"micro_batches", options_.step.micro_batches},
               {"ranks", options_.ranks.ranks},     {"steps", position_.step},
               {"epochs", position_.epoch},         {"threads", options_.threads},
               {"lanes", options_.device.lanes},    {"loss", loss}};
  for (const Metric& figure : workload_->metrics()) json[figure.name] = metric(figure.name);
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  json["seconds"] = seconds_;
  if (log_->words().words > 0) json["words_per_second"] = or_null(log_->words().per_second());
  json["data_wait_seconds"] = log_->later_wait_seconds();
  json["first_batch_seconds"] = log_->first_wait_seconds();
  json["step_seconds_median"] = or_null(log_->step_seconds_median(options_.memory.warmup_steps));
  json["launches_of_last_step"] = launches_json(launches_);
  json["run_directory"] = directory_->path().string();
  json["interrupted"] = interrupted;
  json["memory"] = to_json(*memory_);
  json["budget"] = workload_->budget() ? workload_->budget()->json() : Json(nullptr);
  json["process"] = to_json(*process_);
  if (!log_->chart().lines.empty()) {
    json["memory"]["replans_by_steps"] = replans_json(log_->chart());
  }
  return json;
}

}  // namespace skyline
