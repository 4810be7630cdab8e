#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace skyline {

// Returns the message of the std::runtime_error that `call` throws, or "no error".
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace skyline
