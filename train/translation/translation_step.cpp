#include "train/translation/translation_step.h"

#include <numeric>
#include <utility>

#include "data/text/vocabulary.h"
#include "memory/alignment.h"
#include "train/run/step_scope.h"

namespace skyline {
namespace {

Tensor upload_words(Context& context, const std::vector<std::int32_t>& words,
                    std::string_view name) {
  const TensorSpec spec{{static_cast<std::int64_t>(words.size())}, DType::kInt32};
  return context.upload(spec, words.data(), name);
}

// FNV-1a with 64 bits, one number at a time.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
  return (hash ^ number) * 0x100000001b3u;
}

}  // namespace

ShapeKey translation_key(const PairBatch& batch, StepKind kind) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const PackedWords* side : {&batch.source, &batch.target}) {
    for (const std::int32_t size : side->batch_sizes) {
      hash = mixed(hash, static_cast<std::uint64_t>(size));
    }
    hash = mixed(hash, 0);
  }
  return {hash, kind};
}

ShapeKey translation_key(ShapeKey before, const PairBatch& batch) {
  return {mixed(before.shape, translation_key(batch).shape), before.kind};
}

std::size_t input_bytes(const PairBatch& batch) {
  std::size_t bytes = 0;
  for (const auto* words : {&batch.source.words, &batch.target.words, &batch.target_out}) {
    bytes += align_up(words->size() * sizeof(std::int32_t), kAlignmentBytes);
  }
  return bytes;
}

Tensor translation_loss(Context& context, const Seq2Seq& model, const PairBatch& batch,
                        bool accumulate) {
  Tensor source = upload_words(context, batch.source.words, "source");
  Tensor target = upload_words(context, batch.target.words, "target");
  Tensor answers = upload_words(context, batch.target_out, "answers");
  LstmState state = model.encode(context, std::move(source), PackedShape(batch.source.batch_sizes));
  state = model.reordered(context, std::move(state), batch.source_to_target);
  LstmOutput decoded = model.decode(context, std::move(state), std::move(target),
                                    PackedShape(batch.target.batch_sizes), LstmWanted::kOutputs);
  return model.loss(context, std::move(decoded.y), std::move(answers),
                    {.divisor = static_cast<float>(batch.size())}, accumulate);
}

float translation_inference_step(Context& context, const Seq2Seq& model, const PairBatch& batch) {
  if (!context.training()) context.stage_uploads(input_bytes(batch));
  const ModeScope mode(context, Mode::kInference);
  StepScope step(context, translation_key(batch, StepKind::kInference));
  float loss = 0;
  context.download(translation_loss(context, model, batch), &loss);
  step.end();
  return loss;
}

PairBatch batch_of_lengths(std::span<const std::int32_t> source_lengths,
                           std::span<const std::int32_t> target_lengths) {
  PairBatch batch;
  batch.source = pack_lengths(source_lengths, kUnknownWord);
  std::vector<std::int32_t> with_mark(target_lengths.begin(), target_lengths.end());
  for (std::int32_t& length : with_mark) ++length;
  batch.target = pack_lengths(with_mark, kUnknownWord);
  batch.target_out = batch.target.words;
  batch.source_to_target = rows_between(batch.source.order, batch.target.order);
  batch.pairs.resize(source_lengths.size());
  std::iota(batch.pairs.begin(), batch.pairs.end(), std::size_t{0});
  return batch;
}

}  // namespace skyline
