// The messages of a trainer about its plans, and the result of a run.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/cli.h"
#include "train/data_results.h"
#include "train/decide/program_graph.h"
#include "train/lab/order/step_order.h"
#include "train/report/run_summary.h"
#include "train/trainer.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// Most plans and deviations to print: if every step has another shape, there are very many. The log
// has them all.
constexpr std::uint64_t kEventsTold = 12;

}  // namespace

// What `skyline train --json` prints.
struct RunFigures {
  const TrainOptions& options;
  std::string data, folder;
  std::int64_t steps = 0, epochs = 0;
  double loss = 0, seconds = 0;
  std::int64_t threads = 1, lanes = 1;
  Json metrics;  // of the last evaluation, by name
  DataResults of_data;
  std::optional<std::optional<double>> words_per_second;  // null: not yet measured
  double data_wait_seconds = 0, first_batch_seconds = 0;
  std::optional<double> step_seconds_median;
  std::optional<Launches> launches;  // empty where ops are not launched, or were timed one by one
  bool interrupted = false, out_of_patience = false, trace_recorded = false;
  MemorySummary memory;
  std::optional<Replans> replans;
  std::optional<BudgetAnswer> budget;
  ProcessSummary process;
  std::optional<OrderView> order;  // of a step, the longest one if they differ
  std::optional<RankLane> ranks;
  std::vector<double> rank_seconds;
};

Rows<Launches> rows(const Launches*) {
  return {{"ops", kCount, "that were run one by one", &Launches::ops},
          {"graphs", kCount, "of many ops", &Launches::graphs}};
}

Rows<RunFigures> rows(const RunFigures*) {
  const auto metric = [](std::string_view name) {
    return [name](const RunFigures& run) { return Value(run.metrics).at(name); };
  };
  return {
      {"model", "the network", [](auto& run) { return run.options.model; }},
      {"data", "what it is trained on", &RunFigures::data},
      {"batch_size", kCount, "images or sentences of a batch",
       [](auto& run) { return run.options.batch_size; }},
      {"micro_batches", kCount, "batches of a step, on each rank",
       [](auto& run) { return run.options.step.micro_batches; }},
      {"ranks", kCount, "that train together", [](auto& run) { return run.options.ranks.ranks; }},
      {"steps", kCount, "of the whole run", &RunFigures::steps},
      {"epochs", kCount, "of the whole run", &RunFigures::epochs},
      {"threads", kCount, "of each lane", &RunFigures::threads},
      {"lanes", kCount, "of ops that run at the same time", &RunFigures::lanes},
      {"loss", kNumber, "mean of the epoch", &RunFigures::loss},
      {"top1", kShare, "of images; like the next two, of the last evaluation", metric("top1")},
      {"top5", kShare, "of images; null: few classes", metric("top5")},
      {"test_loss", kNumber, "of images", metric("test_loss")},
      {kTrainingTop1, kShare, "of images, as the steps of the epoch had them",
       metric(kTrainingTop1)},
      {"bleu", kNumber, "of text; like the next three, of the last evaluation", metric("bleu")},
      {"exact_match", kShare, "of text", metric("exact_match")},
      {"perplexity", kNumber, "of text", metric("perplexity")},
      {"bits", kNumber, "of a stream of text: the loss in bits a word", metric("bits")},
      {"validation_loss", kNumber, "of text", metric("validation_loss")},
      {"seconds", kSeconds, "of the run", &RunFigures::seconds},
      {"words_per_second", kNumber, "of text",
       [](auto& run) { return if_known(run.words_per_second); }},
      {"data_wait_seconds", kSeconds, "that steps waited for batches",
       &RunFigures::data_wait_seconds},
      {"first_batch_seconds", kSeconds, "until the first batch", &RunFigures::first_batch_seconds},
      {"step_seconds_median", kSeconds, "of a step, without the warm-up",
       &RunFigures::step_seconds_median},
      {"launches_of_last_step", "on CUDA; null: ops were timed", &RunFigures::launches},
      {"run_directory", "the run's folder", &RunFigures::folder},
      {"interrupted", "a signal ended the run", &RunFigures::interrupted},
      {"out_of_patience", "--patience ended the run", &RunFigures::out_of_patience},
      {"memory",
       "of the run",
       {{"allocator", "its name", [](auto& run) { return run.memory.allocator; }},
        {"", "its figures", &RunFigures::memory},
        {"replans_by_steps", "new plans, where steps vary",
         [](auto& run) { return if_known(run.replans); }}}},
      {"budget", "with --memory: the step that fits", &RunFigures::budget},
      {"process", "what the system counts for this process", &RunFigures::process},
      {"order",
       "of a step's ops; bytes with resident ones",
       {{"algorithm", "what ordered them", [](auto& run) { return run.order->algorithm; }},
        {"program", kBytes, "peak as written", [](auto& run) { return run.order->program(); }},
        {"peak", kBytes, "as executed, with forward as written",
         [](auto& run) { return run.order->peak(); }},
        {"forward_saves", kBytes, "less in the best order found that moves forward ops, too",
         [](auto& run) { return run.order->forward_saves(); }}},
       [](const RunFigures& run) { return run.order.has_value(); }},
      {"trace_recorded", "the run folder's trace.csv is a step as it ran; else as foreseen",
       &RunFigures::trace_recorded},
      {"rank_sums",
       "of gradients; null: one rank",
       {{"sums", kCount, "of buckets in a step", [](auto& run) { return run.ranks->sums.size(); }},
        {"sum_seconds", kSeconds, "of all sums of the run",
         [](auto& run) { return run.ranks->sum_seconds; }},
        {"wait_seconds", kSeconds, "of them that steps waited for",
         [](auto& run) { return run.ranks->wait_seconds; }},
        {"rank_seconds", "seconds that each rank computed", &RunFigures::rank_seconds}},
       [](const RunFigures& run) { return run.ranks.has_value(); }},
      {"", "of the data", &RunFigures::of_data}};
}

std::vector<JsonKey> run_keys(const std::string& prefix) { return keys<RunFigures>(prefix); }

// Call this before an evaluation, which may switch the session to a plan of its own.
void Trainer::note_plan() {
  memory_ = memory_summary(*run_, options_.memory.allocator, device_allocations_at_switch_);
  if (session() == nullptr || session()->state() != Session::State::kPlanned) return;
  // If each batch has its own plan, result() shows the longest step instead.
  const bool plan_each_batch = options_.memory.policy == ShapePolicy::kPerShape ||
                               session()->session_statistics().adopted_plans > 0;
  if (plan_each_batch && !workload().data().lengths_name.empty()) return;
  trace_ = session()->trace();
  plan_ = session()->plan();
}

// What progress says of a step.
std::string Trainer::note_of(const LoggedStep& step) const {
  std::string note = session() == nullptr ? "" : step.planned ? "planned" : "warm-up";
  const std::string slowest = leader_.slowest_rank();
  return note + (note.empty() || slowest.empty() ? "" : "  ") + slowest;
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

namespace {

// Steps are executed as the program defines them, so that only backward and updates move.
std::string order_text(const OrderView& order) {
  const bool least = order.peak() == order.lower_bound && !order.forward_as_written;
  return fmt::format(
      "order {}: {} at most, {} as written;\nmoving forward ops, too, would save {}{}\n",
      order.algorithm, format_bytes(order.peak()), format_bytes(order.program()),
      format_bytes(order.forward_saves()), least ? ", proved" : " in the best order found");
}

}  // namespace

void Trainer::add_order(RunSummary& summary, const DryRunFacts& step) {
  summary.graph = program_graph(in_program_sequence(step.step.graph, step.program_numbers),
                                options_.step.in_place, run_->resident_bytes());
  summary.order = step_order_view(step, options_.step);
  summary.story = model_story(step.step, summary.trace, options_);
}

// The outcome of the training, and the commands that go on from it.
std::string Trainer::outcome_text(double loss) const {
  const std::string run = directory_->path().string();
  std::string text =
      fmt::format("{} steps in {}, loss {:.4f}{}{}; run folder {}\nnext: ", position_.step,
                  format_duration(seconds_), loss, evaluation_text(), log_->words().text(), run);
  for (std::string use : workload().data().uses) {
    text += "skyline " + use.replace(use.find("RUN"), 3, run) + "\n      ";
  }
  return text + fmt::format(
                    "skyline train --resume {} --{} N\n"
                    "      {}/report.html in a browser (#learning: losses first)\n",
                    run, options_.steps ? "steps" : "epochs", run);
}

CommandResult Trainer::result(int exit_code) {
  if (!memory_) note_plan();
  update_totals(*memory_, *run_, device_allocations_at_switch_);
  const DryRunFacts longest = workload().longest_step(decided_.decisions, Mode::kTraining);
  const bool is_longest = same_lifetimes(trace_, longest.trace);
  if (!is_longest) {
    trace_ = longest.trace;
    plan_ = plan(trace_, options_.memory.planner, {}, all_planners());
  }
  if (memory_->blocks) set_plan(*memory_, trace_.size(), plan_);
  const ModelRun* run = run_.get();
  process_ = process_summary({&run, 1}, log_->history_bytes());
  const double loss = position_.batch > 0 ? mean_loss() : position_.last_loss;
  RunSummary summary;
  summary.title = options_.model + " on " + workload().data().name;
  summary.facts = {{"model", options_.model},
                   {"data", workload().data().name},
                   {"batch size", batch_text(options_.batch_size, step_batches())},
                   {"steps", std::to_string(position_.step)},
                   {"loss", fmt::format("{:.4f}", loss)}};
  summary.memory = *memory_;
  summary.process = process_;
  summary.trace = trace_;
  summary.plan = plan_;
  const RecordingAdaptor* const recording = run_->memory.recording();
  if (recording != nullptr && !recording->last_parts().empty()) {
    summary.interrupted = recording->last_parts().back();
  }
  summary.budget = decided_.decisions.budget;
  summary.losses = {{memory_->allocator, log_->losses()}};
  summary.evaluations = {log_->metrics(), log_->evaluations()};
  summary.steps = log_->chart();
  summary.step_seconds = log_->step_seconds_median(decided_.decisions.warmup_steps);
  add_order(summary, longest);
  const std::optional<RankLane> ranks = leader_.lane(
      longest.step.graph, summary.story ? std::span(summary.story->uses) : std::span<BlockUse>());
  if (ranks) summary.parts.emplace_back("ranks", value_of(*ranks));
  const std::string evaluation = evaluation_text();
  // Skips the leading ", ".
  if (!evaluation.empty()) summary.facts.push_back({"evaluation", evaluation.substr(2)});
  write_summary(summary, *directory_);
  directory_->check();

  CommandResult result;
  result.exit_code = exit_code;
  RunFigures figures = result_figures(loss, exit_code != 0);
  result.text = outcome_text(loss) + "\n" + summary_text(summary, console_.facts().width);
  figures.trace_recorded = is_longest && options_.memory.policy != ShapePolicy::kUpperBound;
  figures.order = summary.order;
  figures.ranks = ranks;
  figures.of_data = workload().results(decided_.decisions);
  if (options_.memory.policy != ShapePolicy::kUpperBound || session() == nullptr) {
    figures.of_data.longest_batch.reset();  // no plan was made for it
  }
  if (summary.order) result.text += order_text(*summary.order);
  result.text += results_text(figures.of_data);
  result.json = json_text(value_of(figures));
  if (options_.verbose) result.text += "\n" + process_text(*process_);
  result.text += fmt::format("data wait: {:.3f} s (first batch), {:.3f} s (rest)\n",
                             log_->first_wait_seconds(), log_->later_wait_seconds());
  if (ranks && options_.memory.device == "cpu") {
    result.text += fmt::format("sums over ranks: {:.3f} s, of which steps waited {:.3f} s\n",
                               ranks->sum_seconds, ranks->wait_seconds);
    result.text += fmt::format("ranks computed {:.3f} s to {:.3f} s: {}\n",
                               std::ranges::min(leader_.seconds()),
                               std::ranges::max(leader_.seconds()), leader_.slowest_rank());
  }
  if (exit_code == 0 && out_of_patience()) console_.say(patience_text());
  if (exit_code != 0) {
    console_.warn(
        fmt::format("interrupted {} step {}; saved. Continue with: skyline train --resume {}",
                    evaluation_due() ? "in the evaluation after" : "after", position_.step,
                    directory_->path().string()));
  }
  return result;
}

std::string Trainer::patience_text() const {
  const std::string folder = directory_->path().string();
  return fmt::format(
      "no better {} in {} evaluations: --patience {} ends the run after step {} of {}{}. To go on: "
      "skyline train --resume {} --patience {}",
      workload().data().patience_text, position_.stale_evaluations, *options_.patience,
      position_.step, total_steps_, best_ ? fmt::format(" (the best is in {}/best)", folder) : "",
      folder, position_.stale_evaluations + *options_.patience);
}

// Says what to do next if the loss is not finite.
std::string Trainer::advice_on_divergence(double rate) const {
  return fmt::format(
      "The learning rate is {:.4g}: a lower one, {} may help. To go on from {}: skyline train "
      "--resume {} --learning-rate {:.2g}",
      rate,
      optimizer_options(options_).clip > 0 ? "a lower --clip or --lr-warmup-epochs"
                                           : "or --lr-warmup-epochs,",
      saved_step_ > 0 ? fmt::format("step {}", saved_step_) : "the start",
      directory_->path().string(), options_.learning_rate / 10);
}

RunFigures Trainer::result_figures(double loss, bool interrupted) const {
  RunFigures figures{
      .options = options_,
      .data = workload().data().name,
      .folder = directory_->path().string(),
      .steps = position_.step,
      .epochs = position_.epoch,
      .loss = loss,
      .seconds = seconds_,
      .threads = decided_.decisions.threads,
      .lanes = decided_.decisions.lanes,
      .metrics = Json::object(),
      .of_data = {},
      .data_wait_seconds = log_->later_wait_seconds(),
      .first_batch_seconds = log_->first_wait_seconds(),
      .step_seconds_median = log_->step_seconds_median(decided_.decisions.warmup_steps),
      .interrupted = interrupted,
      .out_of_patience = out_of_patience(),
      .memory = *memory_,
      .budget = decided_.decisions.budget,
      .process = *process_,
      .rank_seconds = leader_.seconds()};
  for (const Metric& figure : workload().data().metrics) {
    figures.metrics[figure.name] = metric(figure.name);
  }
  if (log_->words().words > 0) figures.words_per_second = log_->words().per_second();
  if (const Launches& last = log_->launches(); last.ops + last.graphs > 0) figures.launches = last;
  if (!log_->chart().lines.empty()) figures.replans = replans_of(log_->chart());
  return figures;
}

}  // namespace skyline
