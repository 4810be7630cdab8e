#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace skyline {

// The text as JSON, objects by key or in their own order. Throws nlohmann::json::exception. Here
// and not where it is used: a test file that reads JSON itself compiles a second longer.
nlohmann::json parsed_json(const std::string& text);
nlohmann::ordered_json parsed_in_order(const std::string& text);

}  // namespace skyline
