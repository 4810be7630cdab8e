#include "train/lab/ranks/rank_answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "memory/planners/registry.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/decide/rank_sums.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.2f} ms", 1000 * seconds) : fmt::format("{:.2f} s", seconds);
}

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

Json rows_of(std::span<const RankStep> steps) {
  Json rows = Json::array();
  for (const RankStep& step : steps) {
    rows.push_back({{"ranks", step.ranks},
                    {"peak", step.peak},
                    {"resident_bytes", step.resident_bytes},
                    {"sums", step.sums},
                    {"sent_bytes", step.sent_bytes},
                    {"sum_seconds", step.sum_seconds},
                    {"wait_seconds", step.wait_seconds},
                    {"hidden", step.hidden()},
                    {"seconds", step.seconds}});
  }
  return rows;
}

std::string table_of(std::span<const RankStep> steps) {
  Table table(
      {{"ranks"}, {"bytes"}, {"planned"}, {"sends"}, {"sums"}, {"take"}, {"hidden"}, {"step"}});
  for (const RankStep& step : steps) {
    table.add_row({format_count(static_cast<std::int64_t>(step.ranks)),
                   format_bytes(step.resident_bytes + step.peak), format_bytes(step.peak),
                   format_bytes(step.sent_bytes),
                   format_count(static_cast<std::int64_t>(step.sums)), time_text(step.sum_seconds),
                   fmt::format("{:.0f} %", 100 * step.hidden()), time_text(step.seconds)});
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

Json RankAnswer::json() const {
  return {{"bandwidth", link.bytes_per_second},
          {"latency", link.message_seconds},
          {"seconds_source", seconds_source},
          {"rows", rows_of(steps)},
          {"sharded", rows_of(sharded)}};
}

std::string RankAnswer::text() const {
  return fmt::format(
             "ranks      gradients are summed over a link of {} a second and\n"
             "           {:.0f} µs a message; ops take seconds {}\n\n",
             format_bytes(link.bytes_per_second), 1e6 * link.message_seconds, seconds_source) +
         table_of(steps) + "\nwith --shard-optimizer\n\n" + table_of(sharded);
}

}  // namespace skyline
