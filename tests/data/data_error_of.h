#pragma once

#include <gtest/gtest.h>

#include <string>

#include "data/host.h"

namespace skyline {

// Returns the message of the DataError that `action` throws; fails the test if there is none.
template <class Action>
std::string data_error_of(const Action& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no DataError was thrown";
  return {};
}

}  // namespace skyline
