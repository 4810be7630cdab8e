#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/lab/replay_all.h"

namespace skyline {

// A trace by the name that the user gave, and its replay.
struct NamedReplay {
  std::string trace;
  ReplayResult result;
};

// Keys: DESIGN.md section 6. With one allocator, its figures are beside those of the trace; with
// several, they are under "allocators" by name. Unknown figures are null.
nlohmann::ordered_json replay_json(const ReplayResult& result, bool one_allocator);
// The object of one replay, or those of several in the list "traces", each with the key "trace".
nlohmann::ordered_json replays_json(const std::vector<NamedReplay>& replays, bool one_allocator);

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
