#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/batch_order.h"
#include "data/host.h"

// Batches of windows: pieces of one length of a text.

namespace skyline {

// B windows of T words, one after the other, and the word that follows each of them.
struct WindowBatch {
  std::vector<std::int32_t> words, answers;  // B T
  std::size_t windows = 0;                   // B
  BatchPosition position = {};
};

struct WindowLoaderOptions {
  std::size_t batch_size = 12;   // windows
  std::size_t length = 64;       // T
  BatchPosition start = {};      // the first batch to return
  std::size_t step_batches = 1;  // leave out the batches that do not fill a step of so many
  BatchShare share = {};         // the batches to return, if others read the rest
};

// Returns batches of windows at random places, without end. As many windows as lie side by side in
// the text are an epoch. The places of a batch depend only on random's seed and the batch's
// position, so a resumed run goes on as if it had never stopped, and no thread reads ahead: a batch
// is copied in microseconds. The text must outlive the loader.
class WindowLoader {
 public:
  // `name` is for errors. Throws DataError when the text has no whole window, the batch size is 0
  // or above the windows of an epoch, no step has its batches, or the start is past the end of its
  // epoch.
  WindowLoader(const std::string& name, std::span<const std::uint16_t> text,
               WindowLoaderOptions options, RandomBits random);

  std::size_t batches_per_epoch() const noexcept { return batches_per_epoch_; }
  WindowBatch next();

 private:
  std::span<const std::uint16_t> text_;
  WindowLoaderOptions options_;
  RandomBits random_;
  std::size_t batches_per_epoch_;
  BatchPosition position_;
};

// Returns how many windows of `length` words, each with a word that follows, lie side by side.
std::size_t windows_of(std::span<const std::uint16_t> text, std::size_t length);
// Returns windows first … first + count - 1 of these.
WindowBatch windows_at(std::span<const std::uint16_t> text, std::size_t length, std::size_t first,
                       std::size_t count);

}  // namespace skyline
