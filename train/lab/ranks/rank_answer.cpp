#include "train/lab/ranks/rank_answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "memory/planners/registry.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kRanksPage;  // a step on more and more ranks

namespace {

std::vector<std::size_t> powers_of_two(std::size_t most) {
  std::vector<std::size_t> ranks;
  for (std::size_t number = 1; number < most; number *= 2) ranks.push_back(number);
  ranks.push_back(most);
  return ranks;
}

// As decide() does.
SumBuckets chosen_sums(DryRunOptions program, const StepSeconds& seconds, const RankLink& link) {
  program.savings = {};
  const auto step_with = [&](const SumBuckets& buckets) {
    program.buckets = buckets;
    return dry_run(program).step;
  };
  return sum_buckets(step_with, seconds.of, program.ranks, link);
}

RankStep foreseen_step(DryRunOptions program, const StepSeconds& seconds, const RankLink& link) {
  program.buckets = chosen_sums(program, seconds, link);
  const DryRunFacts facts = dry_run(program);
  RankStep step = timed_sums(facts.step.graph, seconds.of(facts.step), program.ranks, link);
  step.peak = plan(facts.trace).peak;
  step.resident_bytes = facts.resident_bytes;
  return step;
}

std::string table_of(std::span<const RankStep> steps) {
  Table table("ranks | bytes | planned | sends | sums | take | hidden | step");
  for (const RankStep& step : steps) {
    table.add_row({format_count(static_cast<std::int64_t>(step.ranks)),
                   format_bytes(step.resident_bytes + step.peak), format_bytes(step.peak),
                   format_bytes(step.sent_bytes),
                   format_count(static_cast<std::int64_t>(step.sums)),
                   format_seconds(step.sum_seconds, 2),
                   fmt::format("{:.0f} %", 100 * step.hidden()), format_seconds(step.seconds, 2)});
  }
  return table.str();
}

}  // namespace

RankAnswer rank_answer(DryRunOptions program, const StepSeconds& seconds, std::size_t most,
                       const RankLink& link) {
  RankAnswer answer{.link = link, .seconds_source = seconds.source, .steps = {}};
  for (const std::size_t ranks : powers_of_two(most)) {
    program.ranks = ranks;
    program.shard_optimizer = false;
    answer.steps.push_back(foreseen_step(program, seconds, link));
    program.shard_optimizer = ranks > 1;
    answer.sharded.push_back(foreseen_step(program, seconds, link));
  }
  return answer;
}

Rows<RankStep> rows(const RankStep*) {
  return {{"ranks", kCount, "that train together", &RankStep::ranks},
          {"peak", kBytes, "of the plan", &RankStep::peak},
          {"resident_bytes", kBytes, "of a rank", &RankStep::resident_bytes},
          {"sums", kCount, "of buckets of gradients", &RankStep::sums},
          {"sent_bytes", kBytes, "that a rank sends", &RankStep::sent_bytes},
          {"sum_seconds", kSeconds, "of all sums and gathers", &RankStep::sum_seconds},
          {"wait_seconds", kSeconds, "of them that ops wait for", &RankStep::wait_seconds},
          {"hidden", kShare, "of them that ops hide", &RankStep::hidden},
          {"seconds", kSeconds, "of the step", &RankStep::seconds}};
}

Rows<RankAnswer> rows(const RankAnswer*) {
  return {{"bandwidth", kBytes, "of the link in a second",
           [](auto& answer) { return answer.link.bytes_per_second; }},
          {"latency", kSeconds, "of the link for a message",
           [](auto& answer) { return answer.link.message_seconds; }},
          {"seconds_source", "where the seconds of ops are from", &RankAnswer::seconds_source},
          {"rows", "one object for each number of ranks", &RankAnswer::steps},
          {"sharded", "the same with --shard-optimizer", &RankAnswer::sharded}};
}

std::string RankAnswer::text() const {
  return fmt::format(
             "ranks      gradients are summed over a link of {} a second and\n"
             "           {:.0f} µs a message; ops take seconds {}\n\n",
             format_bytes(link.bytes_per_second), 1e6 * link.message_seconds, seconds_source) +
         table_of(steps) + "\nwith --shard-optimizer\n\n" + table_of(sharded);
}

std::string rank_page(std::span<const RankCurve> curves, const std::string& title) {
  nlohmann::ordered_json data = to_json(curves.front().answer);
  data.erase("rows");
  for (const RankCurve& curve : curves) {
    data["curves"].push_back({{"name", curve.name}, {"rows", to_json(curve.answer.steps)}});
  }
  return render_page(kRanksPage, title, data.dump());
}

}  // namespace skyline
