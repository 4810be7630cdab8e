#pragma once

#include <set>
#include <string>

#include "models/models.h"

namespace skyline {

// Returns the names of the parameters and buffers that a model has only in training mode, those of
// its auxiliary heads. Takes no device memory.
std::set<std::string> auxiliary_names(const ModelEntry& entry, const ModelShape& shape);

}  // namespace skyline
