#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/formats/csv/trace_csv.h"
#include "memory/plan.h"
#include "models/models.h"
#include "train/lab/model_summary.h"

namespace skyline {

struct Comparison;
struct DryRunResult;
struct ImageCollection;
struct ImageScan;
struct PgmoReproduction;
struct PlanResult;
struct RecordedStep;
struct ReplayResult;

// The results of the commands as JSON text for CommandResult. All commands' JSON is made in one
// source, because the library's header takes longer to compile than most commands.

// Figures of a model or of a part of it.
struct ModelTotals {
  std::int64_t parameters = 0, multiply_adds = 0;
};

struct ModelSummary {
  std::string model;
  ModelShape shape;                 // of a model of images
  std::int64_t sentence_words = 0;  // of seq2seq's pairs
  std::vector<LayerSummary> layers;
  ModelTotals all, auxiliary_heads;
};

// What is known of a checked plan.
struct PlanCheck {
  std::string reason = {};                     // why it is invalid; empty: valid
  std::optional<std::uint64_t> peak = {};      // bytes, recomputed
  std::optional<Plan> plan = {};               // matched with the trace
  std::optional<PlanCertificate> claims = {};  // of the plan's file

  // How the plan is known to be optimal: "checked" here, "claimed" by its file, or "none".
  std::string proof() const;
};

struct Translations {
  std::string checkpoint;
  double seconds = 0;
  std::vector<std::string> sources, translations;  // one line each
  std::optional<double> bleu, exact_match;         // where a reference was given
};

std::string json_of(const Comparison& comparison);
std::string json_of(const DryRunResult& result);
std::string json_of(const ImageScan& scan, const ImageCollection& collection);
std::string json_of(const ModelSummary& summary);
std::string json_of(const PgmoReproduction& reproduction);
std::string json_of(const PlanCheck& check);
std::string json_of(const PlanResult& result);
// Values by their ids, and the ops of one phase, or of all of them if it is empty.
std::string json_of(const RecordedStep& step, std::optional<Phase> phase);
std::string json_of(const ReplayResult& result, bool one_allocator);
std::string json_of(const Translations& translations);

}  // namespace skyline
