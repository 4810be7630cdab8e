#include <fmt/format.h>

#include "framework/philox.h"
#include "train/checkpoints/files.h"
#include "train/data_results.h"
#include "train/even_workload.h"
#include "train/report/report.h"
#include "train/text/text_data.h"

namespace skyline {
namespace {

// Trains a model that goes on with a text.
class TextWorkload final : public EvenWorkload {
 public:
  TextWorkload(const TrainOptions& options, const LiveParts& live, Console& console)
      : EvenWorkload(options, live, console),
        text_(open_text(options)),
        run_options_(text_run_options(options, text_.vocabulary)) {
    const WindowLoader loader(text_.name, text_.training(),
                              {.batch_size = run_options_.batch_size,
                               .length = run_options_.length,
                               .step_batches = static_cast<std::size_t>(step_batches(options))},
                              Philox{options.data.seed});
    const bool has_characters = text_.characters.size() > 0;
    facts_ = {.name = std::filesystem::path(text_.name).filename().string(),
              .item = "windows",
              .batches_per_epoch = static_cast<std::int64_t>(loader.batches_per_epoch()),
              .metrics = {{"test_loss", "test", MetricKind::kLoss},
                          {"perplexity", "test perplexity", MetricKind::kNumber},
                          {"bits", has_characters ? "bits a character" : "bits a word",
                           MetricKind::kNumber}},
              .patience = "test_loss",
              .patience_text = "test loss",
              .lengths_name = {},
              .uses = {"generate RUN --prompt TEXT", "evaluate RUN"}};
    console.say(fmt::format(
        "{}: {} {} of {} different ones to train with, {} windows of {} to validate", facts_.name,
        text_.training().size(), has_characters ? "characters" : "words", text_.vocabulary,
        windows_of(text_.validation(), run_options_.length), run_options_.length));
    require_memory("training " + options.model);
  }

  std::vector<ReportFact> facts(Mode) const override {
    const GptShape& shape = run_options_.shape;
    return {{"text", fmt::format("{} words of {}", text_.words.size(), text_.vocabulary)},
            {"windows", fmt::format("{} words", run_options_.length)},
            {"layers", fmt::format("{} × {}, {} heads", shape.layers, shape.units, shape.heads)}};
  }
  void save(const std::filesystem::path& folder, StoredJson& data) const override {
    if (text_.characters.size() > 0) {
      write_atomically(folder / kCharactersFile, text_.characters.file_text());
    }
    store_data(text_, data);
  }
  void check_data(const StoredJson& data) const override { skyline::check_data(text_, data); }
  void resume(const std::filesystem::path& folder, const StoredJson& data) override {
    if (text_.characters.size() == 0) return;
    check_characters(CharacterSet::open(folder / kCharactersFile), folder.string(), data);
  }
  DataResults results(const StepDecisions&) override { return {}; }

 private:
  std::unique_ptr<ModelRun> make_run(const MemoryOptions& memory, const Context::Options& context,
                                     const StepShares& shares,
                                     const MemoryWatch& watch) const override {
    TextRunOptions options = run_options_;
    options.shares = shares;
    options.watch = watch;
    return std::make_unique<TextRun>(memory, context, options, &text_);
  }

  TextStream text_;
  TextRunOptions run_options_;
};

}  // namespace

std::unique_ptr<Workload> text_workload(const TrainOptions& options, const LiveParts& live,
                                        Console& console) {
  return std::make_unique<TextWorkload>(options, live, console);
}

}  // namespace skyline
