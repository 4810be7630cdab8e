#include "train/labs/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "train/cli/table.h"

namespace skyline {
namespace {

constexpr Lab kLabs[] = {
    {"planner", "place the blocks of a step in as few bytes as possible",
     [](std::uint64_t seed) { return score_planner(plan_exercise, seed); }},
    {"allocator", "serve requests that nobody knows beforehand",
     [](std::uint64_t seed) { return score_allocator(make_exercise_allocator, seed); }},
    {"in-place", "find the bug: an op overwrites what is read later",
     [](std::uint64_t seed) { return score_in_place(may_overwrite_exercise, seed); }},
    {"order", "order the ops of a step for the least peak",
     [](std::uint64_t seed) { return score_order(order_exercise, seed); }},
    {"bytes", "say where the bytes of GPT-2 go",
     [](std::uint64_t seed) { return score_bytes(bytes_exercise, seed); }},
};

}  // namespace

int LabScore::points() const noexcept {
  return std::accumulate(marks.begin(), marks.end(), 0,
                         [](int sum, const LabMark& mark) { return sum + mark.points; });
}

int LabScore::most() const noexcept {
  return std::accumulate(marks.begin(), marks.end(), 0,
                         [](int sum, const LabMark& mark) { return sum + mark.most; });
}

std::string LabScore::text() const {
  Table table("<task | points | <seen");
  for (const LabMark& mark : marks) {
    table.add_row({mark.task, fmt::format("{} of {}", mark.points, mark.most), mark.finding});
  }
  return fmt::format("{}\n{} of {} points on the hidden cases of seed {}\n", table.str(), points(),
                     most(), seed);
}

std::span<const Lab> labs() { return kLabs; }

LabScore score_lab(std::string_view name, std::uint64_t seed) {
  const auto lab = std::ranges::find(kLabs, name, &Lab::name);
  if (lab == std::end(kLabs)) {
    std::string names;
    for (const Lab& known : kLabs)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    throw std::invalid_argument(fmt::format("unknown lab '{}', expected one of: {}", name, names));
  }
  LabScore score = lab->score(seed);
  score.lab = name;
  score.seed = seed;
  return score;
}

LabMark mark(std::string task, int most, bool met, std::string finding) {
  return {.task = std::move(task),
          .points = met ? most : 0,
          .most = most,
          .finding = std::move(finding)};
}

}  // namespace skyline
