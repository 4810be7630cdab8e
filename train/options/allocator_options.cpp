#include "train/options/allocator_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"
#include "train/cli/option_types.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostDivisions = 1 << 20;

void take_max_split(CachingOptions& options, const std::string& text) {
  std::uint64_t bytes = 0;
  try {
    bytes = parse_bytes(text);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--max-split-size: {}", error.what()));
  }
  if (!valid_max_split(bytes)) {
    throw UsageError(fmt::format(
        "--max-split-size: {} is out of range: it must be a whole number of MiB, at least {}",
        format_bytes_exact(bytes), format_bytes_exact(CachingOptions::kLeastMaxSplitBytes)));
  }
  options.max_split_bytes = bytes;
}

void take_divisions(CachingOptions& options, std::int64_t divisions) {
  if (divisions < 1 || divisions > kMostDivisions ||
      !std::has_single_bit(static_cast<std::uint64_t>(divisions))) {
    throw UsageError(fmt::format(
        "--roundup-power2-divisions: {} is out of range: it must be a power of two from 1 to {}",
        divisions, kMostDivisions));
  }
  options.roundup_power2_divisions = static_cast<std::uint64_t>(divisions);
}

template <typename T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename T>
void read_nullable(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) value = json.get<T>();
}

}  // namespace

void add_allocator_options(CLI::App& app, AllocatorOptions& options) {
  CachingOptions& caching = options.caching;
  app.add_option_function<std::string>(
         "--max-split-size", [&caching](const std::string& text) { take_max_split(caching, text); },
         "caching: never split segments for requests of this size and more")
      ->type_name("SIZE");
  add_number(app, "--garbage-collection-threshold", caching.garbage_collection_threshold, 0, 1,
             "caching: give long unused segments back above this fraction of the capacity; "
             "0 means never");
  app.add_flag("--expandable-segments", caching.expandable_segments,
               "caching: one growing segment a pool");
  app.add_option_function<std::int64_t>(
         "--roundup-power2-divisions",
         [&caching](std::int64_t divisions) { take_divisions(caching, divisions); },
         "caching: round requests up to this many steps between powers of two")
      ->type_name("N")
      ->default_str(std::to_string(caching.roundup_power2_divisions));
  add_bytes(app, "--bfc-limit", options.bfc.limit_bytes,
            "bfc: the most to reserve; otherwise the device's capacity");
  app.add_flag("!--no-bfc-growth", options.bfc.growth, "bfc: reserve the whole limit at once");
}

void write_allocator_options(const AllocatorOptions& options, Json& json) {
  json["max_split_size"] = nullable(options.caching.max_split_bytes);
  json["garbage_collection_threshold"] = options.caching.garbage_collection_threshold;
  json["expandable_segments"] = options.caching.expandable_segments;
  json["roundup_power2_divisions"] = options.caching.roundup_power2_divisions;
  json["bfc_limit"] = nullable(options.bfc.limit_bytes);
  json["no_bfc_growth"] = !options.bfc.growth;
}

AllocatorOptions read_allocator_options(const Json& json) {
  AllocatorOptions options;
  read_nullable(json.at("max_split_size"), options.caching.max_split_bytes);
  json.at("garbage_collection_threshold").get_to(options.caching.garbage_collection_threshold);
  json.at("expandable_segments").get_to(options.caching.expandable_segments);
  json.at("roundup_power2_divisions").get_to(options.caching.roundup_power2_divisions);
  read_nullable(json.at("bfc_limit"), options.bfc.limit_bytes);
  options.bfc.growth = !json.at("no_bfc_growth").get<bool>();
  return options;
}

}  // namespace skyline
