#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

// One line of a score: what was asked, and the points for it.
struct LabMark {
  std::string task;
  int points = 0;
  int most = 0;         // points
  std::string finding;  // what was seen, e.g. "6.3 %"; the first fault of a task that failed
};

// The score of one exercise; the tasks of an exercise are worth 100 points together.
struct LabScore {
  std::string lab;
  std::uint64_t seed = 0;  // of the hidden cases
  std::vector<LabMark> marks;

  int points() const noexcept;
  int most() const noexcept;
  std::string text() const;  // a table; ends with a newline
};

// An exercise. Students write the function of train/labs/exercises/<name>_exercise.cpp.
struct Lab {
  std::string_view name;
  std::string_view summary;  // one line
  LabScore (*score)(std::uint64_t seed);
};

// The exercises, in the order of a course.
std::span<const Lab> labs();

// Scores the exercise called `name` on the cases of `seed`. Throws std::invalid_argument, naming
// the exercises that there are, for an unknown name.
LabScore score_lab(std::string_view name, std::uint64_t seed);

// Returns a mark with all points where `met`, else none.
LabMark mark(std::string task, int most, bool met, std::string finding = "");

}  // namespace skyline
