#include "train/translation/bleu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "data/text/numbers.h"
#include "data/text/tokenizer.h"
#include "framework/philox.h"

namespace skyline {
namespace {

using Sentence = std::vector<std::string>;

Sentence words(const std::string& text) {
  std::istringstream stream(text);
  Sentence sentence;
  for (std::string word; stream >> word;) sentence.push_back(word);
  return sentence;
}

struct Pair {
  Sentence answer, reference;
};

Bleu bleu_of(const std::vector<Pair>& pairs) {
  Bleu bleu;
  for (const Pair& pair : pairs) bleu.add(pair.answer, pair.reference);
  return bleu;
}

// Papineni et al. 2002, section 2.1: "the" occurs twice in the reference, so 2 of 7 match.
TEST(Bleu, MatchesAreClipped) {
  const Bleu bleu =
      bleu_of({{words("the the the the the the the"), words("the cat is on the mat")}});
  EXPECT_DOUBLE_EQ(bleu.precision(1), 2.0 / 7);
  EXPECT_EQ(bleu.precision(2), 0);
  EXPECT_NEAR(bleu.score(), 7.8098, 1e-4) << "sacrebleu's: orders without a match count 1/2, 1/4 …";
}

// By hand: 5 of 6 words, 3 of 5 pairs ("the cat", "on the", "the mat"), 1 of 4 ("on the mat"),
// 0 of 3, which count as half a match: (5/6 · 3/5 · 1/4 · 1/6)^(1/4) = (1/48)^(1/4).
TEST(Bleu, OneSentenceByHand) {
  const Bleu bleu = bleu_of({{words("the cat sat on the mat"), words("the cat is on the mat")}});
  EXPECT_DOUBLE_EQ(bleu.precision(1), 5.0 / 6);
  EXPECT_DOUBLE_EQ(bleu.precision(2), 3.0 / 5);
  EXPECT_DOUBLE_EQ(bleu.precision(3), 1.0 / 4);
  EXPECT_DOUBLE_EQ(bleu.precision(4), 0);
  EXPECT_EQ(bleu.brevity_penalty(), 1);
  EXPECT_NEAR(bleu.score(), 37.9918, 1e-4);
}

// By hand: the counts of the sentence above and of four correct words add up to 9/10, 6/8, 3/6 and
// 1/4: (0.084375)^(1/4).
TEST(Bleu, ACorpusPoolsItsCounts) {
  const Bleu bleu = bleu_of({{words("the cat sat on the mat"), words("the cat is on the mat")},
                             {words("a b c d"), words("a b c d")}});
  EXPECT_NEAR(bleu.score(), 53.8956, 1e-4);
  EXPECT_EQ(bleu.exact_match(), 0.5);
  EXPECT_EQ(bleu.text(), "BLEU 53.90 (90.0/75.0/50.0/25.0, brevity 1.000, 2 sentences)");
}

// By hand: every n-gram matches, and five words answer six: exp(1 − 6/5).
TEST(Bleu, ShortAnswersPayThePenalty) {
  const Bleu shorter = bleu_of({{words("a b c d e"), words("a b c d e f")}});
  EXPECT_NEAR(shorter.score(), 81.8731, 1e-4);
  const Bleu longer = bleu_of({{words("a b c d e f"), words("a b c d e")}});
  EXPECT_EQ(longer.brevity_penalty(), 1);
  EXPECT_NEAR(longer.score(), 100 * std::pow(5.0 / 6 * 4 / 5 * 3 / 4 * 2 / 3, 0.25), 1e-9);
  // The penalty is for the corpus, not per sentence: 4 and 6 words answer 6 and 4.
  const Bleu even =
      bleu_of({{words("a b c d"), words("a b c d e f")}, {words("a b c d e f"), words("a b c d")}});
  EXPECT_EQ(even.brevity_penalty(), 1);
}

TEST(Bleu, PerfectAnswersScoreAHundred) {
  const Bleu bleu = bleu_of({{words("a b c d"), words("a b c d")}, {words("x"), words("x")}});
  EXPECT_DOUBLE_EQ(bleu.score(), 100);
  EXPECT_EQ(bleu.exact_match(), 1);
}

TEST(Bleu, NothingScoresNothing) {
  EXPECT_EQ(Bleu().score(), 0);
  EXPECT_EQ(Bleu().exact_match(), 0);
  const Bleu empty = bleu_of({{{}, words("a b c d")}});
  EXPECT_EQ(empty.score(), 0);
  EXPECT_EQ(empty.brevity_penalty(), 0);
  EXPECT_EQ(bleu_of({{words("a b c"), words("a b c")}}).score(), 0) << "no 4-gram";
}

// Computes the same formula by counting strings in maps.
double naive_bleu(const std::vector<Pair>& pairs) {
  double sum = 0, answers = 0, references = 0, smoothed = 1;
  bool any = false;
  for (std::size_t n = 1; n <= 4; ++n) {
    double matches = 0, all = 0;
    for (const Pair& pair : pairs) {
      const auto counts = [n](const Sentence& sentence) {
        std::map<Sentence, int> ngrams;
        for (std::size_t i = n; i <= sentence.size(); ++i) {
          const auto end = sentence.begin() + static_cast<std::ptrdiff_t>(i);
          ++ngrams[Sentence(end - static_cast<std::ptrdiff_t>(n), end)];
        }
        return ngrams;
      };
      auto reference = counts(pair.reference);
      for (const auto& [ngram, count] : counts(pair.answer)) {
        matches += std::min(count, reference[ngram]);
        all += count;
      }
    }
    any = any || matches > 0;
    if (!any || all == 0) return 0;
    if (matches == 0) matches = smoothed /= 2;
    sum += std::log(matches / all) / 4;
  }
  for (const Pair& pair : pairs) {
    answers += static_cast<double>(pair.answer.size());
    references += static_cast<double>(pair.reference.size());
  }
  return 100 * std::exp(sum + std::min(0.0, 1 - references / answers));
}

void expect_naive_score(const std::vector<Pair>& pairs) {
  const Bleu bleu = bleu_of(pairs);
  EXPECT_NEAR(bleu.score(), naive_bleu(pairs), 1e-9);
}

TEST(Bleu, AgreesWithASecondImplementationOnRandomWords) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto sentence = [&random, seed] {
      Sentence made(random() % 12);
      for (std::string& word : made)
        word = std::string(1, static_cast<char>('a' + random() % (2 + seed % 7)));
      return made;
    };
    std::vector<Pair> pairs(1 + seed % 20);
    for (Pair& pair : pairs) pair = {sentence(), sentence()};
    SCOPED_TRACE(seed);
    expect_naive_score(pairs);
  }
}

// The sentences are numbers in words, with some words dropped, doubled or swapped.
TEST(Bleu, AgreesWithASecondImplementationOnSpoiledSentences) {
  std::mt19937 random(1);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < 300; ++i) {
    const auto number = drawn_number(i, Split::kTrain, Philox{.seed = 1});
    Pair pair{.reference = words(french_number(number))};
    for (const std::string& word : pair.reference) {
      const auto fate = random() % 10;
      if (fate > 0) pair.answer.push_back(fate == 1 ? "cent" : word);
      if (fate == 2) pair.answer.push_back(word);
    }
    pairs.push_back(pair);
  }
  const double score = bleu_of(pairs).score();
  EXPECT_GT(score, 20);
  EXPECT_LT(score, 90);
  expect_naive_score(pairs);
}

// Written by sacrebleu 2.6.0: Tokenizer13a()(line).split().
TEST(Tokenizer13a, SplitsAsSacrebleuDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"Hello, world. It's 3.5 - 1,000.50!", "Hello , world . It's 3.5 - 1,000.50 !"},
      {"l'été d'hier: \"non\"…", "l'été d'hier : \" non \" …"},
      {"a-b 10-11 x.y .5 5. ...", "a-b 10 - 11 x . y . 5 5 . . . ."},
      {"&quot;A&quot; &amp;lt; <skipped>b <c>", "\" A \" < b < c >"},
      {"{a}[b]`c`\\ ^_|~ a/b #$%&*+;=?@", "{ a } [ b ] ` c ` \\ ^ _ | ~ a / b # $ % & * + ; = ? @"},
      {"1.,2 ,,a", "1 . , 2 , , a"},
      {"été.Été,", "été . Été ,"},
      {"a\u00a0b\u3000c\u2009d", "a b c d"},
      {"3.", "3 ."},
      {".3", ". 3"},
      {"a.3,b", "a . 3 , b"},
      {"", ""}};
  for (const auto& [line, expected] : cases) EXPECT_EQ(tokenize_13a(line), words(expected)) << line;
}

// sacrebleu.corpus_bleu(answers, [references]).score
TEST(Bleu, OfTextIsSacrebleus) {
  Bleu bleu;
  for (const char* reference : {"J'ai 23 chats.", "J'ai 5 chats.", "Il a 00 chats."}) {
    bleu.add("J'ai 00 chats.", reference);
  }
  EXPECT_NEAR(bleu.score(), 28.53992676145982, 1e-9);
  EXPECT_EQ(bleu.signature(), "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
  Bleu spaces;
  spaces.add("Va! \"Oui\"", "Va ! \" Oui \"");
  EXPECT_EQ(spaces.exact_match(), 1) << "the words are the same";
  Bleu lower(true);
  lower.add("été à Paris, une fois", "Été à PARIS, une fois");
  EXPECT_EQ(lower.score(), 100);
  EXPECT_EQ(lower.signature(), "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp");
}

}  // namespace
}  // namespace skyline
