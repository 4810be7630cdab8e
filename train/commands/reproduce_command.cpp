#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "train/checkpoints/atomic_file.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/option_types.h"
#include "train/commands/commands.h"
#include "train/lab/largest_batch.h"
#include "train/lab/pgmo/pgmo.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string paper;
  PgmoOptions options;
  fs::path output;
};

// Text, JSON and page in a folder, which is made when it is not there.
void write_files(const fs::path& folder, const PgmoReproduction& reproduction,
                 const CommandResult& result) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) {
    throw UsageError("--output: '" + folder.string() + "' is no folder and cannot be made one");
  }
  write_atomically(folder / "pgmo.txt", result.text);
  write_atomically(folder / "pgmo.json", result.json.dump(2) + "\n");
  write_atomically(folder / "pgmo.html", pgmo_page(reproduction));
}

CommandResult run(const Arguments& arguments, Console& console) {
  const PgmoReproduction reproduction = reproduce_pgmo(arguments.options);
  CommandResult result;
  result.json = to_json(reproduction);
  result.text = pgmo_text(reproduction);
  if (!arguments.output.empty()) {
    write_files(arguments.output, reproduction, result);
    console.say("wrote pgmo.txt, pgmo.json and pgmo.html in " + arguments.output.string());
  }
  return result;
}

// One "32,64,128" in place of several flags.
std::vector<std::int64_t> batch_sizes_of(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    std::int64_t size = 0;
    const bool digits =
        !part.empty() && part.size() <= 7 && part.find_first_not_of("0123456789") == part.npos;
    if (digits) size = std::stoll(part);
    if (size < 1 || size > kMostImages) {
      throw UsageError("--batch-sizes: '" + part +
                       "' is no batch size: give whole numbers from 1 "
                       "to " +
                       format_count(kMostImages) + ", separated by commas");
    }
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

CommandRun declare_reproduce(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_choice(app, "PAPER", arguments->paper, {"pgmo"}, "paper",
             "Whose figures: pgmo (Sekiyama et al. 2018, arXiv:1804.10001)")
      ->required();
  app.add_option_function<std::string>(
         "--batch-sizes",
         [arguments](const std::string& text) {
           arguments->options.batch_sizes = batch_sizes_of(text);
           arguments->options.seq2seq_batch_sizes = arguments->options.batch_sizes;
         },
         "Of training, separated by commas, of seq2seq 256 too; inference runs one image or "
         "sentence")
      ->type_name("N,N,...")
      ->default_str("32,64,128");
  add_path(app, "--output", arguments->output,
           "Write pgmo.txt, pgmo.json and the page pgmo.html into this folder", "DIR");
  return [arguments](Console& console) { return run(*arguments, console); };
}

}  // namespace skyline
