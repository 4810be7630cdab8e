#pragma once

#include <string>
#include <vector>

#include "train/cli/figures.h"
#include "train/lab/replay_all.h"

namespace skyline {

// A trace by the name that the user gave, and its replay.
struct NamedReplay {
  std::string trace;
  ReplayResult result;
};

// Replays of one trace or of several. With one allocator, its figures are beside those of the
// trace; with several, they are under "allocators" by name.
struct Replays {
  std::vector<NamedReplay> traces;
  bool one_allocator = false;
};
Rows<Replays> rows(const Replays*);

// Returns a table with one row per allocator and one for the plan, followed by the reasons for
// refused requests.
std::string replay_text(const ReplayResult& result);
// The same for one replay or several; several are titled.
std::string replays_text(const std::vector<NamedReplay>& replays);

// Returns CSV with a header and a row for each trace and allocator, and one for each plan, whose
// allocator is "plan". Columns: trace, the JSON's keys for an allocator that are numbers, and
// lower_bound. Unknown figures are empty.
std::string replays_csv(const std::vector<NamedReplay>& replays);

}  // namespace skyline
