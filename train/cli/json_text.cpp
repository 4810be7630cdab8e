#include "train/cli/json_text.h"

#include <nlohmann/json.hpp>

namespace skyline {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace skyline
