#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/images/idx/idx_array.h"

namespace skyline {

// The data set that the four IDX files of a folder hold.
struct IdxCollection {
  std::string name;
  std::vector<std::string> class_names;
  bool recognised = false;  // by its labels, so that name and classes are those of a known set
};

// Names a collection by the labels of its splits; null: unknown or damaged.
using IdxNaming = std::function<IdxCollection(const IdxArray* train, const IdxArray* test)>;

}  // namespace skyline
