#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoints/safetensors.h"

// Weights that other programs wrote.

namespace skyline {

// Returns what a file that begins so is and how it becomes one that is read: "is a zip, as
// torch.save() writes; …"; empty if that is unknown. `file` is for the commands in the answer.
std::string foreign_format(std::span<const std::byte> start, std::string_view file);

// The file of each tensor, from an index of shards: {"weight_map": {NAME: FILE, …}}.
using WeightMap = std::map<std::string, std::string, std::less<>>;
// Files are relative and lie in the index's folder. Throws SafetensorsError.
WeightMap decode_weight_index(std::string_view text, std::string_view file);

// Returns the file in a folder that stands for its weights: an index (*.index.json), else
// model.safetensors; empty if there is neither.
std::filesystem::path weights_in(const std::filesystem::path& folder);

// Returns the tensors of a safetensors file, of all shards of an index, or of weights_in() a
// folder. They keep their files open. Throws SafetensorsError, also for a shard that is missing or
// a tensor that two shards have, and what read_safetensors() throws.
std::vector<StoredTensor> read_weights(const std::filesystem::path& path);

// True for the types that as_f32() reads: F32, F16, BF16 and F64.
bool converts_to_f32(StoredType type);
// Returns the tensor as F32, converted piece by piece as it is read; pieces hold whole values. An
// F64 beyond F32's range becomes infinite.
StoredTensor as_f32(StoredTensor tensor);

}  // namespace skyline
