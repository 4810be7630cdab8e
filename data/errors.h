#pragma once

#include <stdexcept>
#include <string>

namespace skyline {

// Data that cannot be used: a file that is missing, truncated or mislabelled, or options that no
// data set can serve. The sentence reads `[source] what`, or `[source] what, got X, expected Y`.
class DataError : public std::runtime_error {
 public:
  DataError(std::string source, const std::string& what);
  DataError(std::string source, const std::string& what, const std::string& got,
            const std::string& expected);

  // The file, folder or data set that is at fault.
  const std::string& source() const noexcept { return source_; }

 private:
  std::string source_;
};

}  // namespace skyline
