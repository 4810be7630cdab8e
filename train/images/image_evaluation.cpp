#include "train/images/image_evaluation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "data/errors.h"
#include "data/loader.h"
#include "train/images/image_step.h"

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

// Returns how many logits rank before the label's: larger ones, equal ones of lower classes, and
// NaNs.
int rank_of(std::span<const float> row, std::size_t label) {
  int before = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (j < label && !(row[j] < row[label])) ++before;
    if (j > label && !(row[j] <= row[label])) ++before;
  }
  return before;
}

// Returns −log softmax of the label.
double cross_entropy(std::span<const float> row, std::size_t label) {
  const double most = *std::ranges::max_element(row);
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - most);
  return std::log(sum) + most - row[label];
}

void count(Accuracy& accuracy, std::span<const float> row, std::int32_t label) {
  if (label == kNotCounted) {
    ++accuracy.not_counted;
    return;
  }
  const int rank = rank_of(row, static_cast<std::size_t>(label));
  accuracy.correct += rank == 0 ? 1 : 0;
  accuracy.correct_top5 += rank < kTopGuesses ? 1 : 0;
  accuracy.loss_sum += cross_entropy(row, static_cast<std::size_t>(label));
  ++accuracy.total;
}

}  // namespace

void for_each_image(Context& context, const Model& model, const Dataset& dataset,
                    EvaluationBatches batches, const LogitsVisitor& visit,
                    const EvaluationProgress& progress) {
  const std::size_t batch_size = std::min(batches.batch_size, dataset.size());
  Loader loader(dataset,
                {.batch_size = batch_size,
                 .shuffle = false,
                 .drop_last = false,
                 .threads = batches.decode_threads},
                {});
  Batch batch;
  std::size_t done = 0;
  while (done < dataset.size()) {
    loader.next(batch);
    const std::size_t real = batch.size;
    if (real < batch_size) fill_up(batch, batch_size);
    const std::vector<std::int32_t> labels = batch.labels;
    std::ranges::replace(batch.labels, kNotCounted, 0);  // the loss needs a valid class
    const std::vector<float> logits =
        inference_step(context, model, batch, [&] { loader.give_back(batch); }).logits;
    const std::size_t classes = logits.size() / batch.size;
    for (std::size_t row = 0; row < real; ++row) {
      visit(done + row, std::span(logits).subspan(row * classes, classes), labels[row]);
    }
    done += real;
    if (progress) progress(done, dataset.size());
  }
}

Accuracy evaluate(Context& context, const Model& model, const Dataset& dataset,
                  std::size_t batch_size, std::size_t decode_threads,
                  const EvaluationProgress& progress) {
  Accuracy accuracy;
  for_each_image(
      context, model, dataset, {batch_size, decode_threads},
      [&accuracy](std::size_t, std::span<const float> logits, std::int32_t label) {
        count(accuracy, logits, label);
      },
      progress);
  if (accuracy.total == 0) {
    throw DataError(dataset.name(),
                    "none of the " + std::to_string(dataset.size()) + " images can be read");
  }
  return accuracy;
}

}  // namespace skyline
