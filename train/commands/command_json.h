#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/text/parallel_text.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/plan.h"
#include "models/models.h"
#include "train/lab/model_summary.h"

namespace skyline {

struct Comparison;
struct DryRunResult;
struct ImageScan;
struct NamedReplay;
struct OllaReproduction;
struct OrderCheck;
struct OrderResult;
struct ParallelNote;
struct PgmoReproduction;
struct PlanResult;
struct RecordedStep;
struct RunDifference;

// The results of the commands as JSON text for CommandResult. One source file makes all of it,
// because the JSON library's header takes longer to compile than most commands.

// Figures of a model or of a part of it.
struct ModelTotals {
  std::int64_t parameters = 0, multiply_adds = 0;
};

struct ModelSummary {
  std::string model;
  ModelShape shape;                 // image models only
  std::int64_t sentence_words = 0;  // seq2seq only
  std::vector<LayerSummary> layers;
  ModelTotals all, auxiliary_heads;
};

// The result of repeating a planner's search for the bound that a plan's file claims.
enum class Verdict { kProved, kRefuted, kNotSettled };

// The result of checking a plan.
struct PlanCheck {
  std::string reason = {};                     // why the plan is invalid; empty: valid
  std::optional<std::uint64_t> peak = {};      // bytes, recomputed
  std::optional<Plan> plan = {};               // matched with the trace
  std::optional<PlanCertificate> claims = {};  // from the plan's file

  std::optional<Verdict> verdict = {};  // if the search was repeated

  // The proof of a bound: "checked" here (the peak is the lower bound, or the search was repeated),
  // "claimed" by the file, or "none".
  std::string proof() const;
  // True if no plan has a lower peak, as far as this was checked.
  bool proved_optimal() const { return plan->proved_optimal && proof() == "checked"; }
};

// Pairs of lines that check-data has read.
struct TextScan {
  TextSummary summary;
  std::size_t source_words = 0, target_words = 0;  // different ones
};

struct Translations {
  std::string checkpoint;
  double seconds = 0;
  std::vector<std::string> sources, translations;  // one line each
  std::vector<std::string> unknown_words;          // of the sources, each once
  std::optional<double> bleu, exact_match;         // if a reference was given
};

std::string json_of(const Comparison& comparison);
std::string json_of(const DryRunResult& result);
std::string json_of(const ImageScan& scan);
std::string json_of(const ModelSummary& summary);
std::string json_of(const OllaReproduction& reproduction);
std::string json_of(const OrderCheck& check);
std::string json_of(const OrderResult& result);
std::string json_of(const ParallelNote& note);
std::string json_of(const PgmoReproduction& reproduction);
std::string json_of(const PlanCheck& check);
std::string json_of(const PlanResult& result);
// Ops refer to values by id. `phase` selects the ops of one phase; empty: all.
std::string json_of(const RecordedStep& step, std::optional<Phase> phase);
std::string json_of(const RunDifference& difference);
std::string json_of(const std::vector<NamedReplay>& replays, bool one_allocator);
std::string json_of(const TextScan& scan);
std::string json_of(const Translations& translations);

}  // namespace skyline
