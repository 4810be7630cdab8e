#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "train/checkpoints/files.h"
#include "train/cli/byte_sizes.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/lab/dry_run/largest_batch.h"
#include "train/lab/mxnet/mxnet.h"
#include "train/lab/olla/olla.h"
#include "train/lab/pgmo/pgmo.h"
#include "train/lab/together/together.h"
#include "train/options/device_options.h"
#include "train/options/memory_options.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

struct ReproduceArguments {
  std::string paper;
  PgmoOptions options;
  ModelOptions together{.model = "googlenet"};
  std::int64_t batch_size = 32;
  std::optional<std::uint64_t> workspace_bytes;
  double time_limit_seconds = TogetherOptions().time_limit_seconds;
  bool measure = false;
  PgmoMeasuring measuring;
  fs::path output;
};

// Writes text, JSON and page into a folder, which is created if needed.
void write_files(const fs::path& folder, const std::string& paper, const CommandResult& result,
                 const std::string& page) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) {
    throw UsageError("--output: '" + folder.string() + "' is not a folder and cannot be created");
  }
  write_atomically(folder / (paper + ".txt"), result.text);
  write_atomically(folder / (paper + ".json"), result.json + "\n");
  write_atomically(folder / (paper + ".html"), page);
}

// `text_of` and `page_of` make the result's text and page.
template <typename Reproduction>
CommandResult reported(const ReproduceArguments& arguments, Console& console,
                       const Reproduction& reproduction,
                       std::string (*text_of)(const Reproduction&),
                       std::string (*page_of)(const Reproduction&)) {
  const CommandResult result = told(reproduction, text_of(reproduction));
  if (arguments.output.empty()) return result;
  const std::string& paper = arguments.paper;
  write_files(arguments.output, paper, result, page_of(reproduction));
  console.say("wrote " + paper + ".txt, " + paper + ".json and " + paper + ".html in " +
              arguments.output.string());
  return result;
}

PgmoReproduction reproduced(const ReproduceArguments& arguments, Console& console) {
  PgmoOptions options = arguments.options;
  if (arguments.measure) {
    options.measuring = arguments.measuring;
    options.measuring->say = [&console](const std::string& line) { console.say(line); };
    if (arguments.measuring.steps < arguments.measuring.warmup_steps + 2) {
      throw UsageError("--steps: no step is left to time after the warm-up and the one behind it");
    }
    check_capacity("--capacity", arguments.measuring.device, arguments.measuring.capacity_bytes);
  }
  return reproduce_pgmo(options);
}

CommandResult run(const OptionList& list, const ReproduceArguments& arguments, Console& console) {
  for (const char* option : {"--model", "--batch-size", "--workspace", "--time-limit"}) {
    if (arguments.paper == "together" || !list.given(option)) continue;
    throw UsageError(
        fmt::format("{} is for together: {} runs what it says", option, arguments.paper));
  }
  if (arguments.paper == "pgmo") {
    list.check_rules();
    return reported(arguments, console, reproduced(arguments, console), pgmo_text, pgmo_page);
  }
  for (const char* option : {"--batch-sizes", "--measure"}) {
    if (!list.given(option)) continue;
    throw UsageError(option + (" is for pgmo: that of " + arguments.paper + " is fixed"));
  }
  if (arguments.paper == "together") {
    TogetherOptions options{.program = dry_run_options(arguments.together, {}, false),
                            .time_limit_seconds = arguments.time_limit_seconds};
    options.program.batch_size = arguments.batch_size;
    options.program.emulate.convolution_workspace_bytes = arguments.workspace_bytes;
    omp_set_num_threads(static_cast<int>(threads_for(options.program.model, 0)));
    return reported(arguments, console, reproduce_together(options), together_text, together_page);
  }
  if (arguments.paper == "mxnet") {
    return reported(arguments, console, reproduce_mxnet(), mxnet_text, mxnet_page);
  }
  return reported(arguments, console, reproduce_olla(), olla_text, olla_page);
}

std::vector<std::int64_t> batch_sizes_of(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (const std::string& part : split_at_commas(text)) {
    std::int64_t size = 0;
    const bool digits =
        !part.empty() && part.size() <= 7 && part.find_first_not_of("0123456789") == part.npos;
    if (digits) size = std::stoll(part);
    if (size < 1 || size > kMostImages) {
      throw UsageError("'" + part + "' is not a batch size: give whole numbers from 1 to " +
                       format_count(kMostImages) + ", separated by commas");
    }
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

CommandRun declare_reproduce(OptionList& list) {
  const auto arguments = std::make_shared<ReproduceArguments>();
  list.add("PAPER", choice(arguments->paper, {"pgmo", "olla", "mxnet", "together"}, "paper"),
           "Paper: pgmo is Sekiyama et al. 2018, arXiv:1804.10001; olla is Steiner et al. 2022, "
           "arXiv:2210.12924, the order of a step's ops; mxnet is the note Optimizing Memory "
           "Consumption in Deep Learning, its pictures and its table of costs; together is one "
           "training step under all of them",
           kRequired);
  list.add("--batch-sizes",
           {.type = "N,N,...",
            .initial = "32,64,128",
            .parse =
                [&options = arguments->options](const std::string& text) {
                  options.batch_sizes = options.seq2seq_batch_sizes = batch_sizes_of(text);
                }},
           "pgmo's training batch sizes; seq2seq runs 256 too by default. Inference runs one image "
           "or sentence");
  list.add("--model", choice(arguments->together.model, model_names(), "model"),
           "together's network");
  list.add("--batch-size", integer(arguments->batch_size, 1, kMostImages),
           "together's images or sentences");
  list.add("--workspace", bytes(arguments->workspace_bytes),
           "together's workspace of each convolution (default: what it needs)");
  list.add("--time-limit", number(arguments->time_limit_seconds, 0, kDay),
           "together's seconds for each planner that searches");
  list.add("--measure", flag(arguments->measure),
           "Run pgmo's figure 3 on the device at hand: seconds of every network's steps under the "
           "pool and planned, at the same batch and, where the capacity is known, at the largest "
           "that fits; takes minutes");
  add_device_option(list, arguments->measuring.device,
                    "With --measure: device that runs the steps");
  list.add("--steps", integer(arguments->measuring.steps, 3, 1'000'000),
           "With --measure: steps of each run, the warm-up included");
  list.add("--warmup-steps", integer(arguments->measuring.warmup_steps, 1, 1000),
           "With --measure: steps before those that are timed");
  list.add("--capacity", some_bytes(arguments->measuring.capacity_bytes, "hold nothing"),
           "With --measure: memory of the device (default: its own)");
  for (const char* option : {"--device", "--steps", "--warmup-steps", "--capacity"}) {
    list.find(option)->needs({"--measure"});
  }
  list.add("--output", path(arguments->output, "DIR"),
           "Write text, JSON and page into this folder: pgmo.txt, pgmo.json, pgmo.html");
  list.prints(keys<PgmoReproduction>);
  list.prints(keys<OllaReproduction>);
  list.prints(keys<MxnetReproduction>);
  list.prints(keys<Together>);
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
