#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "train/run/step_shares.h"

namespace skyline {

// Computes a batch and returns its result as bytes.
using BatchResult = std::function<std::string(std::size_t batch)>;
// Takes the result of a batch. May throw EvaluationStopped.
using BatchTaker = std::function<void(std::size_t batch, const std::string& result)>;

// Calls `compute` for each of `batches` batches and `take` with its result, in their order. The
// ranks of `shares` divide the batches: each computes every so manieth, and takes all results.
// What rank 0 stops, all ranks stop: each throws EvaluationStopped, at once or with the next batch.
void for_each_batch(const StepShares& shares, std::size_t batches, const BatchResult& compute,
                    const BatchTaker& take);

// A value as bytes, and back.
template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <typename T>
T from_bytes(const std::string& bytes) {
  T value;
  bytes.copy(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

}  // namespace skyline
