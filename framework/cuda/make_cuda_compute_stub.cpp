// Stands in for cuda_libraries.cpp and cuda_ranks.cpp in builds without CUDA.

#include <stdexcept>

#include "framework/cuda/make_cuda_compute.h"

namespace skyline {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error("[--device cuda] this build has no CUDA backend");
}

}  // namespace

std::unique_ptr<Compute> make_cuda_compute(const CudaOptions&) { refuse(); }

EngineChoices* heuristic_choices(Compute&) { return nullptr; }

std::shared_ptr<CudaRanks> take_card(const RankGroup&) { refuse(); }

void connect_cards(CudaRanks&, RankGroup&) { refuse(); }

}  // namespace skyline
