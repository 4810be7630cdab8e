#include "tests/benchmarks/framework/op_parameters.h"

#include <sstream>
#include <stdexcept>

namespace skyline {

bool OpParameters::flag(std::string_view name) const {
  std::istringstream words(text_);
  for (std::string word; words >> word;) {
    if (word == name || word == std::string(name) + "=true") return true;
  }
  return false;
}

float OpParameters::number(std::string_view name) const { return std::stof(value(name)); }

dnnl::memory::dims OpParameters::size(std::string_view name) const {
  const std::string text = value(name);
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) {
    throw std::invalid_argument("[op parameters] size, got " + text + ", expected 3x3 or the like");
  }
  return {std::stoll(text), std::stoll(text.substr(cross + 1))};
}

std::string OpParameters::value(std::string_view name) const {
  std::istringstream words(text_);
  const std::string start = std::string(name) + "=";
  for (std::string word; words >> word;) {
    if (word.starts_with(start)) return word.substr(start.size());
  }
  throw std::invalid_argument("[op parameters] value, got '" + text_ + "', expected " + start +
                              "…");
}

}  // namespace skyline
