#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/context.h"
#include "models/model.h"

namespace skyline {

// How much of a network was loaded.
struct InitialWeights {
  std::size_t loaded = 0, all = 0;    // tensors
  std::vector<std::string> notes;     // what was done to names and types
  std::vector<std::string> warnings;  // what did not match, by name
};

// Overwrites the weights of a network with those of the same name and shape in `from`: weights with
// PyTorch's names and order of elements, as read_weights() reads them, a run folder or a
// checkpoint. Prefixes of wrappers ("module.", "model.", "_orig_mod.", "transformer.") that most
// names have are taken off, and F16, BF16 and F64 become F32. All others keep their initial values.
// Throws CheckpointError if nothing matches, UsageError if `from` does not exist, and what
// read_weights() and load_checkpoint() throw; then the network may be half loaded.
InitialWeights load_initial_weights(Context& context, const Network& network,
                                    const std::filesystem::path& from);

}  // namespace skyline
