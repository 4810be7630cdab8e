#pragma once

#include <memory>

namespace skyline {

class CudaRanks;
class RankGroup;

// The cards of a run of several ranks, one each. First every rank takes its card, which becomes the
// thread's current device: the n-th rank of a machine the machine's n-th card. Throws
// std::runtime_error, one line, if the machine has fewer cards than ranks, if NCCL cannot be
// loaded, or if the build has no CUDA backend.
std::shared_ptr<CudaRanks> take_card(const RankGroup& group);
// Then all ranks connect their cards. Throws std::runtime_error.
void connect_cards(CudaRanks& ranks, RankGroup& group);

}  // namespace skyline
