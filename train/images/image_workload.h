#pragma once

#include "train/data_results.h"
#include "train/decide/engines.h"
#include "train/decide/live_parts.h"
#include "train/decide/step_budget.h"
#include "train/decide/warm_up.h"
#include "train/images/image_data.h"
#include "train/images/image_run.h"
#include "train/options/train_options.h"
#include "train/workload.h"

namespace skyline {

// Trains an image classifier.
class ImageWorkload final : public Workload {
 public:
  // `options` must be resolved. The console outlives the workload.
  ImageWorkload(const TrainOptions& options, const LiveParts& live, Console& console);

  std::vector<ReportFact> facts(Mode mode) const override;
  StepTrial dry_step(const StepDecisions& decisions) override;
  DryRunFacts longest_step(const StepDecisions& decisions, Mode mode) override;
  using Workload::on;
  std::unique_ptr<ModelRun> on(const StepDecisions& decisions, const MemoryOptions& memory,
                               Mode mode, const MemoryWatch& watch) override;

  void prepare() override;
  void save(const std::filesystem::path& folder, StoredJson& data) const override;
  void check_data(const StoredJson& data) const override;
  void resume(const std::filesystem::path& folder, const StoredJson& data) override;
  std::vector<std::string> take_problems() override;
  DataResults results(const StepDecisions&) override { return {.bad_images = data_.unreadable()}; }

 private:
  // Dry steps with engine choices of their own.
  struct Trial {
    SumBuckets buckets;
    LiveParts live;
    TriedEngines engines;
    DryRun run;
  };
  ImageRunOptions run_options(const StepDecisions& decisions, const LiveParts& live,
                              const MemoryWatch& watch = {}) const;
  DryRun dry_run(const StepDecisions& decisions, const LiveParts& live, Mode mode) const;
  PlanNeeds needs(const StepDecisions& decisions, Mode mode) const;
  void require_memory() const;
  void say_normalisation();

  TrainOptions options_;
  LiveParts live_;
  Console& console_;
  ImageData data_;
  std::shared_ptr<const MeanImage> mean_;  // null: nothing is subtracted
  ImageRunOptions run_options_;
  std::optional<Trial> trial_;
};

}  // namespace skyline
