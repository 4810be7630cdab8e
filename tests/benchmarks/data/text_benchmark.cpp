// Times text: reading and tokenizing, making batches, scoring. Items are sentences or sentence
// pairs. The text consists of random words, 25 words and a few punctuation marks per sentence on
// average.
#include <benchmark/benchmark.h>

#include "data/text/numbers.h"
#include "data/text/pair_loader.h"
#include "data/text/vocabulary.h"
#include "framework/philox.h"
#include "train/translation/translation_evaluation.h"

namespace skyline {
namespace {

constexpr std::size_t kPairs = 10'000;
constexpr std::uint32_t kTypes = 20'000;

// Returns a sentence of one to `most` words; some have an accented capital or a comma.
std::string random_sentence(std::uint64_t index, std::uint64_t stream, std::uint32_t most) {
  const Philox random{.seed = 1};
  std::string sentence;
  const std::uint32_t words = 1 + random(stream, index << 8)[0] % most;
  for (std::uint32_t i = 0; i < words; ++i) {
    const auto draw = random(stream, (index << 8) + 1 + i);
    // A product of two uniform draws favours low numbers, as language favours common words.
    const auto type = static_cast<std::uint32_t>((std::uint64_t{draw[0]} * draw[1]) >> 32) % kTypes;
    sentence += draw[2] % 20 == 0 ? "É" : "";
    sentence += "w" + std::string(type % 7, static_cast<char>('a' + type % 26));
    for (std::uint32_t rest = type; rest > 0; rest /= 26) {
      sentence += static_cast<char>('a' + rest % 26);
    }
    sentence += draw[3] % 10 == 0 ? ", " : " ";
  }
  return sentence + ".\n";
}

std::vector<std::uint8_t> random_text(std::uint64_t stream) {
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    const std::string sentence = random_sentence(i, stream, 49);
    bytes.insert(bytes.end(), sentence.begin(), sentence.end());
  }
  return bytes;
}

const ParallelText& text() {
  static const ParallelText made =
      read_parallel_text(ByteReader("source", random_text(0)), ByteReader("target", random_text(1)),
                         {.most_words = ParallelTextOptions::kUnlimited});
  return made;
}

const SentencePairs& pairs() {
  static const SentencePairs made = [] {
    const auto encoded = [](const TokenizedText& side) {
      return Vocabulary::most_frequent(side, 10'000).encode(side);
    };
    return SentencePairs{"pairs", encoded(text().source), encoded(text().target)};
  }();
  return made;
}

void read_and_tokenize(benchmark::State& state) {
  const auto source = random_text(0), target = random_text(1);
  for (auto _ : state) {
    const ParallelText read =
        read_parallel_text(ByteReader("source", source), ByteReader("target", target));
    benchmark::DoNotOptimize(read.size());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * kPairs));
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(source.size() + target.size()));
}
BENCHMARK(read_and_tokenize)->Unit(benchmark::kMillisecond);

void tokenize_sentences(benchmark::State& state) {
  const std::string sentence = random_sentence(0, 0, 1) + random_sentence(1, 0, 49);
  Tokenizer tokenizer({.lower = state.range(0) != 0});
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.split(sentence).size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(sentence.size()));
}
BENCHMARK(tokenize_sentences)->ArgName("lower")->Arg(0)->Arg(1);

void vocabulary_of_10000(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Vocabulary::most_frequent(text().source, 10'000).size());
  }
}
BENCHMARK(vocabulary_of_10000)->Unit(benchmark::kMillisecond);

// Makes batches of 64 pairs; the time includes shuffling each epoch.
void next_batch(benchmark::State& state) {
  PairLoader loader(pairs(), {.batch_size = 64, .bucket = state.range(0) != 0}, Philox{.seed = 1});
  std::int64_t words = 0;
  for (auto _ : state) {
    const PairBatch batch = loader.next();
    words += static_cast<std::int64_t>(batch.source.words.size() + batch.target.words.size());
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["words/s"] =
      benchmark::Counter(static_cast<double>(words), benchmark::Counter::kIsRate);
}
BENCHMARK(next_batch)->ArgName("bucket")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void write_numbers(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(numbers_text(kPairs, Split::kTrain, Philox{.seed = 1}).size());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPairs));
}
BENCHMARK(write_numbers)->Unit(benchmark::kMillisecond);

// Scores a thousand sentences against other random sentences.
void score_bleu(benchmark::State& state) {
  std::vector<std::vector<std::string>> sentences;
  for (std::uint64_t i = 0; i < 1001; ++i) sentences.push_back(tokenize(random_sentence(i, 0, 49)));
  for (auto _ : state) {
    Bleu bleu;
    for (std::size_t i = 0; i < 1000; ++i) bleu.add(sentences[i], sentences[i + 1]);
    benchmark::DoNotOptimize(bleu.score());
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(score_bleu)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace skyline
