#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "framework/compute.h"
#include "framework/engines/engine_choices.h"

namespace skyline {

class CudaRanks;

struct CudaOptions {
  bool tf32 = false;           // products and convolutions may round operands to 10 bits
  bool deterministic = false;  // gives the same bits in every run
  // Limit for each convolution and dense layer.
  std::optional<std::size_t> workspace_bytes;
  bool measured = false;  // times cuDNN's engines of each convolution; else its heuristics choose
  std::function<void(const TimedEngines&)> on_timed;  // told of each convolution timed, or empty
  // Engines of convolutions are read from here; missing ones are chosen and added. Null: every
  // compute object chooses anew. Must outlive the compute object.
  EngineChoices* engines = nullptr;
  // Uses no device, but the card that `engines` describes: kernels can be made, which is enough to
  // know all requests of a step, but cannot run.
  bool plan_only = false;
  // Captures stretches of ops that return unchanged as graphs, see CapturedSteps. Needs one rank.
  bool graph = false;
  // How the cards of several ranks sum gradients; null on one rank. See take_card().
  std::shared_ptr<CudaRanks> ranks;
};

// Makes a Compute on the thread's current CUDA device. Throws std::runtime_error, one line with the
// flag and the reason, if no device can be used, if `engines` belong to another card or another
// cuDNN, or if the build has no CUDA backend.
std::unique_ptr<Compute> make_cuda_compute(const CudaOptions& options);

// Returns the choices of a CUDA device if the heuristics complete them; else null: engines are
// measured, or no choices are given, or it is another device.
EngineChoices* heuristic_choices(Compute& compute);

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
