#include "train/evaluate.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "data/loader.h"
#include "train/training_step.h"

namespace skyline {
namespace {

// Repeats a batch's own images until it has `size` of them.
void fill_up(Batch& batch, std::size_t size) {
  const std::size_t image = batch.images.size() / batch.size;
  const std::size_t real = batch.size;
  batch.images.resize(size * image);
  batch.labels.resize(size);
  for (std::size_t i = real; i < size; ++i) {
    std::copy_n(batch.images.begin() + static_cast<std::ptrdiff_t>((i % real) * image), image,
                batch.images.begin() + static_cast<std::ptrdiff_t>(i * image));
    batch.labels[i] = batch.labels[i % real];
  }
  batch.size = size;
}

std::int64_t count_correct(const std::vector<float>& logits, const Batch& batch, std::size_t rows) {
  const std::size_t classes = logits.size() / batch.size;
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i * classes);
    const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(classes));
    correct += std::distance(row, best) == batch.labels[i] ? 1 : 0;
  }
  return correct;
}

}  // namespace

Accuracy evaluate(Context& context, const Model& model, const Dataset& dataset,
                  std::size_t batch_size) {
  batch_size = std::min(batch_size, dataset.size());
  Loader loader(
      dataset,
      {.batch_size = batch_size, .shuffle = false, .drop_last = false, .prefetch = 2, .start = {}},
      {});
  Accuracy accuracy;
  Batch batch;
  for (std::size_t i = 0; i < loader.batches_per_epoch(); ++i) {
    loader.next(batch);
    const std::size_t real = batch.size;
    if (real < batch_size) fill_up(batch, batch_size);
    accuracy.correct += count_correct(inference_step(context, model, batch).logits, batch, real);
    accuracy.total += static_cast<std::int64_t>(real);
  }
  return accuracy;
}

}  // namespace skyline
