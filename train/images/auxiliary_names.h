#pragma once

#include <set>
#include <string>

#include "models/models.h"

namespace skyline {

// Returns the names, in files, of the weights that a model has only in training mode, those of
// its auxiliary heads. Takes no device memory.
std::set<std::string> auxiliary_names(const ModelEntry& entry, const ModelShape& shape);

}  // namespace skyline
