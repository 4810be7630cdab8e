#pragma once

#include <nlohmann/json_fwd.hpp>

#include "memory/allocators/allocator_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace skyline {

// --max-split-size, --garbage-collection-threshold, --expandable-segments,
// --roundup-power2-divisions (caching), --bfc-limit and --no-bfc-growth (bfc). An option that the
// chosen allocator does not have changes nothing. `options` outlives `app`.
void add_allocator_options(CLI::App& app, AllocatorOptions& options);

// The values under the names of their flags, into `json` and back: "max_split_size" is
// --max-split-size. Reading throws nlohmann::json::exception for a missing or foreign value.
void write_allocator_options(const AllocatorOptions& options, nlohmann::ordered_json& json);
AllocatorOptions read_allocator_options(const nlohmann::ordered_json& json);

}  // namespace skyline
