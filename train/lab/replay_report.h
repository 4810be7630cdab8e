#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/lab/replay_all.h"

namespace skyline {

// Keys: DESIGN.md section 6. With one allocator, its figures are beside those of the trace; with
// several, they are under "allocators" by name. Unknown figures are null.
nlohmann::ordered_json replay_json(const ReplayResult& result, bool one_allocator);

// Returns a table with one row per allocator and one for the plan, followed by the reasons for
// refused requests.
std::string replay_text(const ReplayResult& result);

}  // namespace skyline
