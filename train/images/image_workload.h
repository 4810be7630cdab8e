#pragma once

#include "train/images/image_data.h"
#include "train/images/image_run.h"
#include "train/options/train_options.h"
#include "train/workload.h"

namespace skyline {

// Trains an image classifier.
class ImageWorkload final : public Workload {
 public:
  // `options` must be resolved. The console outlives the workload.
  ImageWorkload(const TrainOptions& options, Console& console);

  std::string data_name() const override { return data_.train->name(); }
  std::string_view item() const override { return "images"; }
  std::int64_t batches_per_epoch() const override { return batches_per_epoch_; }
  std::vector<Metric> metrics() const override {
    return {{"top1", "test top-1", MetricKind::kShare},
            {"top5", "test top-5", MetricKind::kShare},
            {"test_loss", "test", MetricKind::kLoss}};
  }
  std::vector<ReportFact> facts(Mode mode) const override;

  DryRunFacts longest_step(Mode mode) override;

  void prepare() override;
  void save(const std::filesystem::path& folder, TrainingPosition& position) const override;
  void check_data(const TrainingPosition& position) const override;
  void resume(const std::filesystem::path& folder, const TrainingPosition& position) override;
  void report_problems() override;
  std::vector<BadImage> bad_images() const override { return data_.unreadable(); }
  void add_facts(nlohmann::ordered_json& json, std::string& text) override;

 private:
  std::unique_ptr<ModelRun> make_run(const MemoryOptions& memory, Mode mode) override;
  std::optional<Needs> needs(Mode mode) override;
  StepTrial trial(const Savings& savings, bool other_engines) override;
  void forget_steps() override { trial_.reset(); }
  ImageRunOptions run_options() const;
  DryRun dry_run(Mode mode) const;
  void require_memory() const;
  void say_normalisation();

  ImageData data_;
  std::shared_ptr<const MeanImage> mean_;  // null: nothing is subtracted
  ImageRunOptions run_options_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<DryRun> trial_;
};

}  // namespace skyline
