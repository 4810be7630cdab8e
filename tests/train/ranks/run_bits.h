#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "tests/train/parsed_json.h"
#include "train/checkpoints/checkpoint.h"

namespace skyline {

// Returns the bits of all tensors after a run's last step, and its losses and accuracies.
inline std::string run_bits(const std::filesystem::path& run) {
  const LoadedCheckpoint loaded = load_checkpoint(run);
  std::string bits;
  for (const auto* tensors : {&loaded.checkpoint.weights, &loaded.checkpoint.state}) {
    for (const StoredTensor& tensor : *tensors) {
      bits += tensor.name;
      for_each_piece(tensor, [&](std::uint64_t, std::span<const std::byte> piece) {
        bits.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      });
    }
  }
  std::ifstream log(run / "log.jsonl");
  for (std::string line; std::getline(log, line);) {
    const auto step = parsed_json(line);
    bits += step["loss"].dump() +
            (step.contains("training_top1") ? step["training_top1"].dump() : "") + "\n";
  }
  return bits;
}

}  // namespace skyline
