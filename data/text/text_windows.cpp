#include "data/text/text_windows.h"

#include <utility>

namespace skyline {
namespace {

void add_window(WindowBatch& batch, std::span<const std::uint16_t> text, std::size_t start,
                std::size_t length) {
  const auto window = text.subspan(start, length + 1);
  batch.words.insert(batch.words.end(), window.begin(), window.end() - 1);
  batch.answers.insert(batch.answers.end(), window.begin() + 1, window.end());
  ++batch.windows;
}

std::size_t checked_batches(const std::string& name, std::size_t windows,
                            const WindowLoaderOptions& options) {
  if (windows == 0) {
    throw DataError(name, "has no window of " + std::to_string(options.length) +
                              " words and one that follows: give a longer text or less --length");
  }
  return batches_per_epoch(name,
                           {.samples = windows,
                            .batch_size = options.batch_size,
                            .drop_last = true,
                            .start = options.start,
                            .step_batches = options.step_batches},
                           "windows");
}

}  // namespace

WindowLoader::WindowLoader(const std::string& name, std::span<const std::uint16_t> text,
                           WindowLoaderOptions options, RandomBits random)
    : text_(text),
      options_(options),
      random_(std::move(random)),
      batches_per_epoch_(checked_batches(name, windows_of(text, options.length), options)),
      position_(within_epoch(options.start, batches_per_epoch_)) {}

WindowBatch WindowLoader::next() {
  WindowBatch batch;
  batch.position = position_;
  const std::uint64_t number =
      position_.epoch * batches_per_epoch_ + position_.batch + options_.share.rank;
  for (std::size_t i = 0; i < options_.batch_size; ++i) {
    const auto words =
        random_(static_cast<std::uint64_t>(DataStream::kWindows), number * options_.batch_size + i);
    const std::size_t starts = text_.size() - options_.length;
    add_window(batch, text_, random_below(starts, words[0], words[1]), options_.length);
  }
  position_ = options_.share.after(position_, batches_per_epoch_);
  return batch;
}

std::size_t windows_of(std::span<const std::uint16_t> text, std::size_t length) {
  return text.empty() ? 0 : (text.size() - 1) / length;
}

WindowBatch windows_at(std::span<const std::uint16_t> text, std::size_t length, std::size_t first,
                       std::size_t count) {
  WindowBatch batch;
  for (std::size_t i = first; i < first + count; ++i) add_window(batch, text, i * length, length);
  return batch;
}

}  // namespace skyline
