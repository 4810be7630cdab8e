#include "train/decide/engines.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/alignment.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"
#include "train/decide/program_graph.h"

namespace skyline {

bool TriedEngines::choose(const EngineNames& names) {
  if (names == chosen_) return false;
  for (const auto& [problem, name] : chosen_) choices_->by_problem.erase(problem);
  for (const auto& [problem, name] : names) choices_->by_problem[problem] = {.name = name};
  chosen_ = names;
  return true;
}

namespace {

OrderProblem problem_of(const DryRunFacts& facts) {
  const StepGraph graph = in_program_sequence(facts.step.graph, facts.program_numbers);
  return order_problem(program_graph(graph, true, facts.resident_bytes), {});
}

}  // namespace

std::set<std::string> engines_above_peak(const DryRunFacts& direct, const DryRunFacts& by_rule) {
  const std::vector<OpId>& order = direct.program_numbers;
  const std::uint64_t peak = order_peak(problem_of(direct), order);
  const std::vector<std::uint64_t> bytes = order_bytes(problem_of(by_rule), order);
  std::set<std::string> problems;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto use = by_rule.step.engines.find(order[place]);
    if (use != by_rule.step.engines.end() && bytes[place] > peak)
      problems.insert(use->second.problem);
  }
  return problems;
}

std::map<std::string, std::size_t> workspaces_within_peak(DryRunFacts step, bool wants_room) {
  std::erase_if(step.step.engines,
                [&](const auto& use) { return use.second.wants_room != wants_room; });
  const std::vector<OpId>& order = step.program_numbers;
  DryRunFacts without = step;
  for (const auto& [op, use] : step.step.engines) {
    without.step.graph.ops[op].workspace_bytes = use.smaller_workspace_bytes;
  }
  const std::uint64_t peak = order_peak(problem_of(without), order);
  const std::vector<std::uint64_t> others = order_bytes(problem_of(without), order);
  const std::vector<std::uint64_t> bytes = order_bytes(problem_of(step), order);
  std::map<std::string, std::size_t> limits;
  for (const auto& [op, use] : step.step.engines) {
    if (bytes[op] <= peak && !wants_room) continue;
    // Each part is rounded up. One block is always free: many engines on tensor cores ask for some
    // hundred bytes, and others would be much slower.
    const std::size_t room = std::max(peak - others[op], 2 * kAlignmentBytes) - kAlignmentBytes;
    const auto [limit, is_new] = limits.emplace(use.problem, room);
    if (!is_new) limit->second = std::min(limit->second, room);
  }
  return limits;
}

}  // namespace skyline
