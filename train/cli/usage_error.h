#pragma once

#include <stdexcept>

namespace skyline {

// The command line asks for something impossible; what() is one sentence for the user. The program
// prints it and exits with 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace skyline
