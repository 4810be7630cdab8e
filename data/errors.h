#pragma once

#include <stdexcept>
#include <string>

namespace skyline {

// Unusable data: a missing, truncated or mislabelled file, or options that no data set can serve.
// The message reads `[source] what` or `[source] what, got X, expected Y`.
class DataError : public std::runtime_error {
 public:
  DataError(std::string source, const std::string& what);
  DataError(std::string source, const std::string& what, const std::string& got,
            const std::string& expected);

  // The file, folder or data set at fault.
  const std::string& source() const noexcept { return source_; }

 private:
  std::string source_;
};

}  // namespace skyline
