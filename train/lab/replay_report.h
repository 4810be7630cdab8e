#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/lab/replay_all.h"

namespace skyline {

// The keys of DESIGN section 6. One allocator: its figures beside those of the trace; several:
// under "allocators", by name. Unknown figures are null.
nlohmann::ordered_json replay_json(const ReplayResult& result, bool one_allocator);

// A table with a row for each allocator and one for the plan, and below it why requests were
// refused.
std::string replay_text(const ReplayResult& result);

}  // namespace skyline
