#pragma once

#include <span>
#include <string>

#include "train/lab/ranks/rank_answer.h"

namespace skyline {

// One program on more and more ranks.
struct RankCurve {
  std::string name;  // "each rank keeps all state"; the page shows it beside other curves
  RankAnswer answer;
};

// Makes a page of curves over the ranks: seconds of a step against ideal, the share of the sums'
// seconds that ops hide, and bytes of a rank; and their table. All answers must be for one link.
// Expects at least one curve, and in each the step of one rank first.
std::string rank_page(std::span<const RankCurve> curves, const std::string& title);

}  // namespace skyline
