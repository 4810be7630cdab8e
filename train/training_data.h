#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/random.h"
#include "models/model.h"

namespace skyline {

// Which images to train on.
struct DataOptions {
  std::string data = "shapes";      // a generator's name or a folder of IDX files
  std::int64_t images = 8000;       // of a generator
  std::int64_t test_images = 2000;  // of a generator
  std::uint64_t seed = 0;
};

struct TrainingData {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
  ModelShape shape() const;  // that a model for these images has
};

// `wanted` is what a generator draws for: the model's own size. A folder's images come as they are.
// Throws UsageError when `data` is neither a generator nor a folder, DataError as the data sets do.
TrainingData open_training_data(const DataOptions& options, const ModelShape& wanted);

// Philox under a seed, as the data room takes it.
RandomBits random_bits(std::uint64_t seed);

}  // namespace skyline
