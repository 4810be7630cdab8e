#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>

namespace skyline {

// Reads the parameters that ops print (Op::parameters): "stride=2x2 padding=0x0 relu".
class OpParameters {
 public:
  explicit OpParameters(std::string_view text) : text_(text) {}

  // "relu", or "relu=true".
  bool flag(std::string_view name) const;
  // All of these throw std::invalid_argument if the name is missing.
  float number(std::string_view name) const;
  dnnl::memory::dims size(std::string_view name) const;  // height, width

 private:
  // Returns the text after "name=", up to the next blank.
  std::string value(std::string_view name) const;

  std::string text_;
};

}  // namespace skyline
