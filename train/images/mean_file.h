#pragma once

#include <filesystem>
#include <memory>

#include "data/images/normalisation.h"
#include "train/cli/console.h"
#include "train/images/image_data.h"
#include "train/options/data_options.h"

namespace skyline {

// The mean image of a run, kept in its folder as mean.safetensors: a tensor "mean", F32
// [side, side, 3], 0 to 255.
inline constexpr const char* kMeanFile = "mean.safetensors";

// Throws WriteError.
void write_mean(const std::filesystem::path& folder, const MeanImage& mean);
// Returns null if the folder has none. Throws SafetensorsError if the file is damaged or holds
// something else.
std::shared_ptr<const MeanImage> read_mean(const std::filesystem::path& folder);

// Throws CheckpointError if the folder has none.
std::shared_ptr<const MeanImage> stored_mean(const std::filesystem::path& folder);

// compute_mean() with its progress on the console and a final line. Unreadable images are in
// data.bad_images afterwards.
std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              Console& console);

}  // namespace skyline
