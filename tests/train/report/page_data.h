#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/train/parsed_json.h"

namespace skyline {

// Returns the text of the JSON that a page's script reads.
inline std::string page_data_text(const std::string& page) {
  constexpr std::string_view kBegin = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

inline nlohmann::json page_data(const std::string& page) {
  return parsed_json(page_data_text(page));
}

}  // namespace skyline
