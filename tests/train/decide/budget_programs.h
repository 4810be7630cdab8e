#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "models/models.h"
#include "tests/memory/planners/effort.h"
#include "tests/train/decide/small_budget.h"
#include "train/options/train_options.h"

namespace skyline::tests {

inline constexpr const char* kWordByWord = "seq2seq, word by word";
// With several rounds of images a batch.
inline constexpr const char* kChains[] = {"vgg16, 16 images", "alexnet, 128 images",
                                          "googlenet, 40 images"};

// Every model with a few samples, and some again.
// The paper's own drawing of inception-resnet has the ops of the other, in other numbers: it waits
// for nights.
inline std::vector<std::string> budget_programs() {
  std::vector<std::string> programs = model_names();
  if (!runs_at_night()) std::erase(programs, "inception-resnet-figure");
  programs.emplace_back(kWordByWord);
  programs.insert(programs.end(), std::begin(kChains), std::end(kChains));
  return programs;
}

inline std::string budget_program_name(std::string program) {
  std::ranges::replace_if(
      program, [](char letter) { return !std::isalnum(static_cast<unsigned char>(letter)); }, '_');
  return program;
}

inline DryRunOptions budget_program(const std::string& name) {
  DryRunOptions options{.model = name, .batch_size = 4};
  if (std::ranges::count(kChains, name) > 0) {
    const std::size_t comma = name.find(", ");
    options.model = name.substr(0, comma);
    options.batch_size = std::stoi(name.substr(comma + 2));
  }
  if (name == kWordByWord) {
    options.model = kSeq2Seq;
    options.sentence_words = 6;
    options.translation.unroll = true;
  }
  if (translates(options.model)) {
    options.translation.source_words = 50;
    options.translation.target_words = 60;
    options.translation.units = 32;
    options.optimizer = {.name = "adam", .clip = 5};
  } else if (find_gpt(options.model) != nullptr) {
    options.gpt = {.words = 60, .positions = 10, .layers = 2, .heads = 2, .units = 32};
    options.window_length = 10;
    options.optimizer = {.name = "adamw", .clip = 1};
  } else {
    options.shape = find_model(options.model).shape;
  }
  return options;
}

// Asks for twenty budgets, from the least that was found to all kept. More bytes never cost more
// seconds.
inline void expect_keeps_twenty(SmallBudget& small) {
  double before = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 20; ++k) {
    const std::uint64_t bytes = small.bytes_at(k / 19.0);
    const BudgetAnswer answer = small.budget.within(bytes);
    EXPECT_LE(answer.reserved_bytes, bytes) << k;
    EXPECT_LE(answer.bound(), answer.overhead() + 1e-9) << k;
    EXPECT_LE(answer.recomputed, answer.candidates);
    const bool others =
        answer.savings && (answer.savings->early_sums || !answer.savings->rounds.empty());
    EXPECT_EQ(answer.recomputed == 0 && !others, answer.savings == nullptr);
    EXPECT_LE(answer.extra_seconds, before) << k;
    before = answer.extra_seconds;
  }
  EXPECT_EQ(before, 0);
}

}  // namespace skyline::tests
