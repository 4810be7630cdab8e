#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace skyline {

// Parses JSON; objects are sorted by key or keep their own order. Throws nlohmann::json::exception.
// Not inline, because including the parser costs each test file a second of compile time.
nlohmann::json parsed_json(const std::string& text);
nlohmann::ordered_json parsed_in_order(const std::string& text);

}  // namespace skyline
