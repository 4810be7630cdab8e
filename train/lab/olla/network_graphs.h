#pragma once

#include <span>
#include <string_view>

namespace skyline {

// Training steps of well-known networks, as texts of graph files (memory/formats/graph_file.h);
// the name ends with the batch size: "alexnet-32". Every op of an ordinary eager step is apart:
// input and weight gradients are two ops, updates are plain SGD at the end, nothing is in place.
// Embedded by the build (embed_graphs.cmake).
std::span<const std::string_view> network_graphs();

}  // namespace skyline
