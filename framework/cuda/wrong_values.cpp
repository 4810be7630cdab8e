#include "framework/cuda/wrong_values.h"

#include <cuda_runtime.h>

#include "framework/cuda/cuda_error.h"

namespace skyline {
namespace {

constexpr unsigned long long kNone = ~0ull;

}  // namespace

WrongValues::~WrongValues() {
  for (const Place& place : places_) cudaFreeHost(place.noted);
}

unsigned long long* WrongValues::place(Raise raise, std::int64_t range) {
  for (const Place& place : places_) {
    if (place.raise == raise && place.range == range) return place.noted;
  }
  void* pinned = nullptr;
  check_cuda(cudaMallocHost(&pinned, sizeof kNone), "cudaMallocHost");
  auto* noted = static_cast<unsigned long long*>(pinned);
  *noted = kNone;
  places_.push_back({noted, raise, range});
  return noted;
}

void WrongValues::check() {
  Place wrong = {};
  unsigned long long first = kNone;
  for (const Place& place : places_) {
    if (first == kNone && *place.noted != kNone) {
      first = *place.noted;
      wrong = place;
    }
    *place.noted = kNone;
  }
  if (first == kNone) return;
  wrong.raise(static_cast<std::int64_t>(first >> 32), static_cast<std::int32_t>(first),
              wrong.range);
}

}  // namespace skyline
