#include "train/lab/ranks/rank_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "framework/ops/ranks/rank_sum_ops.h"
#include "memory/planners/registry.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/ranks/sum_buckets.h"

namespace skyline {
namespace {

std::string shown(double seconds) {
  return seconds < 1 ? fmt::format("{:.2f} ms", 1000 * seconds) : fmt::format("{:.2f} s", seconds);
}

std::uint64_t input_bytes(const StepGraph& graph, const StepOp& op) {
  std::uint64_t bytes = 0;
  for (const ValueId value : op.inputs) bytes += graph.values[value].bytes;
  return bytes;
}

std::vector<std::size_t> powers_of_two(std::size_t most) {
  std::vector<std::size_t> ranks;
  for (std::size_t number = 1; number < most; number *= 2) ranks.push_back(number);
  ranks.push_back(most);
  return ranks;
}

// As Workload::choose_sums() does.
SumBuckets chosen_sums(DryRunOptions program, const StepSeconds& seconds, const RankLink& link) {
  if (program.ranks == 1) return nullptr;
  program.buckets = {};
  program.step.recomputed_ops = {};
  const RecordedStep step = dry_run(program).step;
  return sum_buckets(step, seconds.of(step), program.ranks, link);
}

}  // namespace

double RankStep::hidden() const {
  return sum_seconds > 0 ? std::max(0.0, 1 - wait_seconds / sum_seconds) : 1;
}

RankStep timed_sums(const StepGraph& graph, std::span<const double> seconds, std::size_t ranks,
                    const RankLink& link) {
  RankStep step{.ranks = ranks};
  double link_free = 0;
  std::unordered_map<ValueId, double> ends;  // of sums, by what they receive
  for (OpId number = 0; number < graph.ops.size(); ++number) {
    const StepOp& op = graph.ops[number];
    if (op.name == kBeginRankSum) {
      const SumCost sum = cost_of_sum(input_bytes(graph, op), ranks, link);
      link_free = std::max(link_free, step.seconds) + sum.seconds;
      ends[op.outputs.front()] = link_free;
      ++step.sums;
      step.sent_bytes += static_cast<std::uint64_t>(std::ceil(sum.sent_bytes));
      step.sum_seconds += sum.seconds;
    } else if (op.name == kWaitRankSum) {
      const double end = std::max(ends.at(op.inputs.front()), step.seconds);
      step.wait_seconds += end - step.seconds;
      step.seconds = end;
    } else {
      step.seconds += seconds[number];
    }
  }
  return step;
}

RankAnswer rank_answer(DryRunOptions program, const StepSeconds& seconds, std::size_t most,
                       const RankLink& link) {
  RankAnswer answer{.link = link, .seconds_source = seconds.source, .steps = {}};
  for (const std::size_t ranks : powers_of_two(most)) {
    program.ranks = ranks;
    program.buckets = chosen_sums(program, seconds, link);
    const DryRunFacts facts = dry_run(program);
    RankStep step = timed_sums(facts.step.graph, seconds.of(facts.step), ranks, link);
    step.peak = plan(facts.trace).peak;
    step.resident_bytes = facts.resident_bytes;
    answer.steps.push_back(step);
  }
  return answer;
}

nlohmann::ordered_json RankAnswer::json() const {
  nlohmann::ordered_json json = {{"bandwidth", link.bytes_per_second},
                                 {"latency", link.message_seconds},
                                 {"seconds_source", seconds_source},
                                 {"rows", nlohmann::ordered_json::array()}};
  for (const RankStep& step : steps) {
    json["rows"].push_back({{"ranks", step.ranks},
                            {"peak", step.peak},
                            {"resident_bytes", step.resident_bytes},
                            {"sums", step.sums},
                            {"sent_bytes", step.sent_bytes},
                            {"sum_seconds", step.sum_seconds},
                            {"wait_seconds", step.wait_seconds},
                            {"hidden", step.hidden()},
                            {"seconds", step.seconds}});
  }
  return json;
}

std::string RankAnswer::text() const {
  std::string text = fmt::format(
      "ranks      gradients are summed over a link of {} a second and\n"
      "           {:.0f} µs a message; ops take seconds {}\n\n",
      format_bytes(link.bytes_per_second), 1e6 * link.message_seconds, seconds_source);
  Table table({{"ranks"}, {"planned"}, {"sends"}, {"sums"}, {"take"}, {"hidden"}, {"step"}});
  for (const RankStep& step : steps) {
    table.add_row({format_count(static_cast<std::int64_t>(step.ranks)), format_bytes(step.peak),
                   format_bytes(step.sent_bytes),
                   format_count(static_cast<std::int64_t>(step.sums)), shown(step.sum_seconds),
                   fmt::format("{:.0f} %", 100 * step.hidden()), shown(step.seconds)});
  }
  return text + table.str();
}

}  // namespace skyline
