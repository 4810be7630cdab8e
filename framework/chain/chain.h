#pragma once

#include <string_view>
#include <vector>

#include "framework/apply.h"

namespace skyline {

// The ops of a chain in rounds, in forward and in backward.
inline constexpr std::string_view kChain = "chain", kChainGrad = "chain_grad";

// Applies the links one after another to images x [N, C, H, W], as apply() does. A chain has no
// branches, and no link lets images meet: batch normalization ends it.
//
// A chain that the context's savings name is one op of forward and one of backward, which take the
// images in rounds. Values between its links live in the op's workspace for one round, and backward
// recomputes them, round by round, from x. So it retains x, its operands, and outputs of the last
// link alone. A round has as many images as Context::Options::round_bytes hold of the chain's
// largest value, a multiple of 4. Rounds of 1 to 16 images of vgg16's first stage, of 12.3 MiB
// each, take 0.80 to 1.04 of the seconds of whole ops (two cores, AVX-512); fewer pixels would
// leave much of a card idle.
//
// A batch of more than one round sums the gradients of operands round by round in any case, and
// calls the kernels that read them for a round: the bits are the same in rounds and not.
Tensor chain(Context& context, std::string_view name, Tensor x, std::vector<Link> links);

}  // namespace skyline
