#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace skyline {

// Returns the text of a JSON object as commands print it, without a final newline. Bytes that are
// not UTF-8, as file names may hold, become U+FFFD, so that a finished run does not fail at its
// report.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace skyline
