#include <fmt/format.h>

#include <memory>
#include <sstream>
#include <utility>

#include "memory/formats/order_file.h"
#include "memory/solvers/solvers.h"
#include "train/checkpoints/files.h"
#include "train/commands/commands.h"
#include "train/commands/output_file.h"
#include "train/lab/load_file.h"
#include "train/lab/order/order_result.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

struct OrderCommandOptions {
  fs::path graph;
  std::string algorithm = std::string(kDefaultOrder);
  std::optional<double> time_limit_seconds;
  fs::path output;
};

CommandResult run(const OrderCommandOptions& options, Console& console) {
  require_folder_of(options.output);
  const OrderResult found = answer({.file = load_graph(options.graph),
                                    .algorithm = options.algorithm,
                                    .options = {.time_limit_seconds = options.time_limit_seconds}});
  if (!options.output.empty()) {
    std::ostringstream text;
    write_order(text, found.file, found.answer);
    write_atomically(options.output, std::move(text).str());
    console.say(fmt::format("wrote {}", options.output.string()));
  }
  return {.json = json_text(value_of(found)), .text = found.text()};
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const OrderEntry& entry : all_order_algorithms()) names.emplace_back(entry.name);
  return names;
}

std::string algorithm_help() {
  std::string help = "What orders the ops.";
  for (const OrderEntry& entry : all_order_algorithms()) {
    help += fmt::format("\n{}: {}.", entry.name, entry.summary);
  }
  return help + "\nOne of";
}

}  // namespace

CommandRun declare_order(OptionList& list) {
  const auto options = std::make_shared<OrderCommandOptions>();
  list.add("GRAPH", path(options->graph),
           "JSON of a step's graph, format skyline-graph; - reads standard input", kRequired);
  list.add("--algorithm", choice(options->algorithm, algorithm_names(), "algorithm"),
           algorithm_help());
  list.add("--time-limit", number(options->time_limit_seconds, 0, kDay),
           "Seconds to search (default: a fixed amount of work, repeatable)");
  list.add("--output", path(options->output, "ORDER.json"),
           "Write the order that was placed and the certificate of its bound");
  list.prints(keys<OrderResult>);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace skyline
