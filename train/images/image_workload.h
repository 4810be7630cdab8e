#pragma once

#include <memory>
#include <optional>

#include "data/loader.h"
#include "train/images/image_data.h"
#include "train/images/image_dry_run.h"
#include "train/images/image_run.h"
#include "train/options/train_options.h"
#include "train/workload.h"

namespace skyline {

// Trains a classifier of images by stochastic gradient descent; evaluations count top-1 and, among
// more than five classes, top-5.
class ImageTask : public Task {
 public:
  // `options` are resolved.
  ImageTask(const TrainOptions& options, SessionListener listener, Console& console);

  Workplace& workplace() override { return experiment_; }
  std::string data_name() const override { return data_.train->name(); }
  std::string_view item() const override { return "images"; }
  std::int64_t batches_per_epoch() const override { return batches_per_epoch_; }
  std::vector<std::string> metric_names() const override { return {"top1", "top5"}; }

  void start(const std::filesystem::path& folder, TrainingPosition& position) override;
  void resume(const std::filesystem::path& folder, const TrainingPosition& position) override;
  void seek(const TrainingPosition& position) override;
  Step step(std::int64_t number, double learning_rate) override;
  Evaluation evaluate(std::int64_t number) override;
  std::vector<Trace> longest_steps() const override;
  ShapeKey longest_key() const override;
  bool is_evaluation(ShapeKey key) const override;
  void report_problems(Console& console) override;
  void add_facts(nlohmann::ordered_json& json, std::string& text) const override;

 private:
  LoaderOptions loader_options() const;
  DryRunOptions dry_run_options(Mode mode, std::size_t batch_size) const;
  void plan_evaluation();
  std::size_t evaluation_batch_size() const;

  TrainOptions options_;
  Console& console_;
  const ModelEntry& entry_;
  TrainingData data_;
  Experiment experiment_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<Loader> loader_;
  Batch batch_;
  bool evaluation_planned_ = false;
};

}  // namespace skyline
