#include "tests/train/parsed_json.h"

#include <nlohmann/json.hpp>

namespace skyline {

nlohmann::json parsed_json(const std::string& text) { return nlohmann::json::parse(text); }

nlohmann::ordered_json parsed_in_order(const std::string& text) {
  return nlohmann::ordered_json::parse(text);
}

}  // namespace skyline
