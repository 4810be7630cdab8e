#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/train/temporary_folder.h"

namespace skyline::tests {

// A folder for traces and plans, with one small trace.
class PlanCommands : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  TemporaryFolder folder_;
  const std::string trace_ = file(
      "trace.csv", "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n");
};

}  // namespace skyline::tests
