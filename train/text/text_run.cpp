#include "train/text/text_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <utility>

#include "framework/ops/array/rows.h"
#include "framework/philox.h"
#include "memory/now_seconds.h"
#include "train/run/step_scope.h"

namespace skyline {

TextRun::TextRun(const MemoryOptions& memory_options, const Context::Options& context_options,
                 TextRunOptions options, const TextStream* text)
    : ModelRun(memory_options, context_options, options.shares, options.watch),
      model(context, options.shape),
      options_(std::move(options)),
      text_(text) {
  own_optimizer(options_.optimizer);
}

void TextRun::seek(const BatchPosition& position, std::uint64_t seed) {
  loader_.emplace(text_->name, text_->training(),
                  WindowLoaderOptions{.batch_size = options_.batch_size,
                                      .length = options_.length,
                                      .start = position,
                                      .step_batches = context.training() ? shares().batches() : 1,
                                      .share = shares().of_data()},
                  Philox{seed});
}

double TextRun::next() {
  const double asked = now_seconds();
  batches_.clear();
  while (batches_.size() < step_batches()) batches_.push_back(loader_->next());
  return now_seconds() - asked;
}

void TextRun::take_empty_batch(std::int64_t size) {
  const auto windows = static_cast<std::size_t>(size);
  const std::vector<std::int32_t> words(windows * options_.length);
  take({{.words = words, .answers = words, .windows = windows}});
}

BatchFacts TextRun::batch_facts() const {
  std::uint64_t words = 0;
  for (const WindowBatch& batch : batches_) words += batch.words.size();
  return {.sentences = words, .words = words};
}

std::size_t TextRun::input_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t number = 0; number < step_batches(); ++number) {
    bytes += 3 * word_bytes(batch(number).words.size());
  }
  return bytes;
}

Tensor TextRun::features(std::span<const std::int32_t> words, std::size_t windows) {
  while (places_.size() < words.size()) {
    places_.push_back(static_cast<std::int32_t>(places_.size() % options_.length));
  }
  Tensor on_device = upload_words(context, words, "words");
  Tensor places = upload_words(context, std::span(places_).first(words.size()), "places");
  return model.features(context, std::move(on_device), std::move(places),
                        static_cast<std::int64_t>(windows));
}

Tensor TextRun::loss(const WindowBatch& batch, bool accumulate) {
  Tensor answers = upload_words(context, batch.answers, "answers");
  Tensor z = features(batch.words, batch.windows);
  return model.loss(context, std::move(z), std::move(answers), accumulate);
}

CrossEntropy TextRun::loss_of(std::size_t number) { return {loss(batch(number), number > 0)}; }

float TextRun::inference_step() {
  if (options_.generates) {
    const std::vector<float> logits = next_word(batch(0).words);
    return logits.empty() ? 0 : *std::ranges::max_element(logits);
  }
  return inference_loss_step({batch(0).windows, StepKind::kInference});
}

std::vector<float> TextRun::next_word(std::span<const std::int32_t> words) {
  context.stage_uploads(2 * word_bytes(options_.length));
  StepScope step(context, {words.size(), StepKind::kInference});
  Tensor z = slice_rows(context, features(words, 1), std::ssize(words) - 1, 1);
  const Tensor logits = model.logits(context, std::move(z));
  std::vector<float> host;
  if (context.executes()) host.resize(static_cast<std::size_t>(model.shape().words));
  context.download(logits, host.data());
  step.end();
  return host;
}

Evaluation TextRun::evaluate(std::int64_t, const EvaluationProgress& progress) {
  const std::span<const std::uint16_t> text = text_->validation();
  const std::size_t windows = windows_of(text, options_.length), size = options_.batch_size;
  if (windows == 0) {
    throw DataError(text_->name, fmt::format("its validation part has no window of {} words and "
                                             "one that follows",
                                             options_.length));
  }
  double sum = 0;
  {
    const Interruption interruption(context.allocator());
    const ModeScope mode(context, Mode::kInference);
    for_each_batch(
        shares(), (windows + size - 1) / size,
        [&](std::size_t number) {
          const std::size_t first = number * size, count = std::min(size, windows - first);
          float value = 0;
          context.download(loss(windows_at(text, options_.length, first, count)), &value);
          return bytes_of(value * static_cast<double>(count));
        },
        [&](std::size_t number, const std::string& of_batch) {
          sum += from_bytes<double>(of_batch);
          if (progress) progress(std::min((number + 1) * size, windows), windows);
        });
  }
  // Gives back what the pool took for the evaluation.
  context.allocator().release_cached();
  const double loss = sum / static_cast<double>(windows), bits = loss / std::numbers::ln2;
  const bool has_characters = text_->characters.size() > 0;
  return {.metrics = {{"test_loss", loss}, {"perplexity", std::exp(loss)}, {"bits", bits}},
          .text = fmt::format("test loss {:.4f}, perplexity {:.3f}, {:.3f} bits a {}", loss,
                              std::exp(loss), bits, has_characters ? "character" : "word"),
          .sample = {}};
}

std::uint16_t sampled_word(std::span<const float> logits, const SamplerOptions& options,
                           std::uint64_t number) {
  if (options.temperature == 0) {
    return static_cast<std::uint16_t>(std::ranges::max_element(logits) - logits.begin());
  }
  std::vector<std::uint16_t> words(logits.size());
  std::iota(words.begin(), words.end(), std::uint16_t{0});
  // The lower of two words with equal logits is the likelier one.
  std::ranges::stable_sort(words, std::greater(), [&](std::uint16_t word) { return logits[word]; });
  if (options.top_k > 0) {
    words.resize(std::min(words.size(), static_cast<std::size_t>(options.top_k)));
  }
  std::vector<double> sums;  // of probabilities, up to a factor
  for (double sum = 0; const std::uint16_t word : words) {
    sum += std::exp((double{logits[word]} - double{logits[words.front()]}) / options.temperature);
    sums.push_back(sum);
  }
  const auto random = Philox{static_cast<std::uint64_t>(options.seed)}(0, number);
  const double share = (std::uint64_t{random[0]} << 21 ^ random[1] >> 11) * 0x1p-53;
  const auto found = std::ranges::upper_bound(sums, share * sums.back());
  return words[std::min(static_cast<std::size_t>(found - sums.begin()), words.size() - 1)];
}

std::vector<std::uint16_t> TextRun::generate(std::span<const std::uint16_t> prompt,
                                             std::size_t count, const SamplerOptions& options) {
  std::vector<std::int32_t> words(prompt.begin(), prompt.end());
  for (std::size_t number = 0; number < count; ++number) {
    const std::size_t seen = std::min(words.size(), options_.length);
    words.push_back(sampled_word(next_word(std::span(words).last(seen)), options, number));
  }
  return {words.end() - static_cast<std::ptrdiff_t>(count), words.end()};
}

}  // namespace skyline
