#include "memory/planners/exact/exact_problem.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace skyline {
namespace {

struct Use {
  std::int32_t lower, upper;  // renumbered ticks
  BlockIndex block;
};

// Returns each span of time in which a block is in use, by block, then time.
std::vector<Use> uses_of(const Packing& packing) {
  std::vector<Use> uses;
  uses.reserve(packing.size() + packing.gaps.size());
  auto gap = packing.gaps.begin();
  for (BlockIndex i = 0; i < packing.size(); ++i) {
    const auto add = [&](std::int32_t lower, std::int32_t upper) {
      if (lower < upper && packing.bytes[i] > 0) uses.push_back({lower, upper, i});
    };
    std::int32_t from = packing.lower[i];
    for (; gap != packing.gaps.end() && gap->block == i; ++gap) {
      add(from, gap->lower);
      from = gap->upper;
    }
    add(from, packing.upper[i]);
  }
  return uses;
}

// Groups uses by connected lifetimes; groups and uses are in the order of their ticks.
std::vector<std::vector<Use>> connected(const Packing& packing, std::vector<Use> uses) {
  const auto lower = [&](const Use& use) { return packing.lower[use.block]; };
  std::stable_sort(uses.begin(), uses.end(),
                   [&](const Use& a, const Use& b) { return lower(a) < lower(b); });
  std::vector<std::vector<Use>> parts;
  std::int32_t end = -1;
  for (const Use& use : uses) {
    if (lower(use) >= end) parts.emplace_back();
    parts.back().push_back(use);
    end = std::max(end, packing.upper[use.block]);
  }
  return parts;
}

// Returns the sections of each use and counts them. A section ends at the first end of a use since
// a use has begun.
std::vector<ExactProblem::Range> sections_of(const std::vector<Use>& uses, std::int32_t& sections) {
  struct End {
    std::int32_t tick;
    bool begins;  // ends sort before beginnings
    std::size_t use;
  };
  std::vector<End> ends;
  ends.reserve(2 * uses.size());
  for (std::size_t k = 0; k < uses.size(); ++k) {
    ends.push_back({uses[k].lower, true, k});
    ends.push_back({uses[k].upper, false, k});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
    if (a.tick != b.tick) return a.tick < b.tick;
    return a.begins != b.begins ? a.begins < b.begins : a.use < b.use;
  });
  std::vector<ExactProblem::Range> ranges(uses.size());
  bool begun = false;
  for (const End& end : ends) {
    if (end.begins) {
      ranges[end.use].begin = sections;
    } else {
      sections += begun;
      ranges[end.use].end = sections;
    }
    begun = end.begins;
  }
  return ranges;
}

// Blocks begin at multiples of the alignments' greatest common divisor.
void stack(ExactProblem& problem) {
  std::int64_t step = 0;
  for (const std::int64_t alignment : problem.alignment) step = std::gcd(step, alignment);
  for (const std::int64_t units : problem.units) {
    problem.stacked_units.push_back(step > 1 ? align_up(units, step) : units);
    problem.slack = std::max(problem.slack, problem.stacked_units.back() - units);
  }
}

ExactProblem problem_of(const Packing& packing, std::vector<Use> uses, std::uint64_t unit) {
  std::stable_sort(uses.begin(), uses.end(),
                   [](const Use& a, const Use& b) { return a.block < b.block; });
  ExactProblem problem{.unit_bytes = unit};
  problem.parts = sections_of(uses, problem.sections);
  for (std::uint32_t p = 0; p < uses.size(); ++p) {
    const BlockIndex block = uses[p].block;
    if (p > 0 && uses[p - 1].block == block) {
      problem.hull.back().end = problem.parts[p].end;
      problem.has_gaps = true;
      continue;
    }
    const bool is_fixed = packing.is_fixed(block);
    problem.blocks.push_back(block);
    problem.units.push_back(static_cast<std::int64_t>(packing.bytes[block] / unit));
    problem.fixed_units.push_back(is_fixed ? static_cast<std::int64_t>(packing.fixed[block] / unit)
                                           : ExactProblem::kFree);
    problem.has_fixed |= is_fixed;
    if (!packing.alignments.empty()) {
      problem.alignment.push_back(static_cast<std::int64_t>(packing.alignments[block] / unit));
    }
    problem.ticks.push_back(
        static_cast<double>(packing.ticks[static_cast<std::size_t>(packing.upper[block])]) -
        static_cast<double>(packing.ticks[static_cast<std::size_t>(packing.lower[block])]));
    problem.hull.push_back(problem.parts[p]);
    problem.first_part.push_back(p);
  }
  problem.first_part.push_back(static_cast<std::uint32_t>(uses.size()));
  problem.number_kinds();
  stack(problem);
  return problem;
}

}  // namespace

void ExactProblem::number_kinds() {
  using Key = std::pair<std::int64_t, std::int64_t>;
  std::map<std::vector<Key>, std::uint32_t> known;
  for (std::size_t k = 0; k < size(); ++k) {
    if (fixed_units[k] != kFree) {
      kind.push_back(kinds++);
      continue;
    }
    std::vector<Key> key;
    if (!alignment.empty()) {
      const bool is_whole = units[k] % alignment[k] == 0;
      key.emplace_back(alignment[k], is_whole ? 0 : units[k]);
    }
    for (std::uint32_t p = first_part[k]; p < first_part[k + 1]; ++p) {
      key.emplace_back(parts[p].begin, parts[p].end);
    }
    const auto [place, is_new] = known.emplace(std::move(key), kinds);
    kinds += is_new;
    kind.push_back(place->second);
  }
}

std::int64_t ExactProblem::most_units_in_use() const {
  std::vector<std::int64_t> change(static_cast<std::size_t>(sections) + 1, 0);
  for (std::size_t k = 0; k < size(); ++k) {
    for (std::uint32_t p = first_part[k]; p < first_part[k + 1]; ++p) {
      change[static_cast<std::size_t>(parts[p].begin)] += stacked_units[k];
      change[static_cast<std::size_t>(parts[p].end)] -= stacked_units[k];
    }
  }
  std::int64_t in_use = 0, most = 0;
  for (const std::int64_t units_here : change) most = std::max(most, in_use += units_here);
  return most - slack;
}

std::int64_t ExactProblem::highest_fixed_end() const {
  std::int64_t highest = 0;
  for (std::size_t k = 0; k < size(); ++k) {
    if (fixed_units[k] != kFree) highest = std::max(highest, fixed_units[k] + units[k]);
  }
  return highest;
}

std::vector<ExactProblem> exact_problems(const Packing& packing) {
  const std::uint64_t unit = packing.unit_bytes();
  std::vector<ExactProblem> problems;
  for (std::vector<Use>& uses : connected(packing, uses_of(packing))) {
    problems.push_back(problem_of(packing, std::move(uses), unit));
  }
  return problems;
}

}  // namespace skyline
