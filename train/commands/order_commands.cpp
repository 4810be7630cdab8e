// The commands on a step's graph and the order of its ops: graph, order and check-order.

#include <memory>
#include <optional>
#include <sstream>

#include "framework/graph_text.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/order_file.h"
#include "memory/solvers/solvers.h"
#include "train/commands/commands.h"
#include "train/commands/model_options.h"
#include "train/lab/dry_run/largest_batch.h"
#include "train/lab/load_file.h"
#include "train/lab/order/order_result.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

constexpr const char* kAllPhases = "all";
// Words per sentence of seq2seq. With --unroll, the graph grows with this number.
constexpr std::int64_t kSentenceWords = 10;

struct GraphArguments {
  ModelOptions model;
  std::int64_t batch_size = 32;
  bool infer = false, input_gradient = false;
  StepOptions step;
  std::string phase = kAllPhases;
  bool dot = false;
  std::filesystem::path output;
};

// Runs one step without memory or arithmetic.
RecordedStep recorded_step(const GraphArguments& arguments) {
  DryRunOptions program = dry_run_options(arguments.model, arguments.step, arguments.infer);
  program.batch_size = arguments.batch_size;
  program.sentence_words = kSentenceWords;
  program.input_gradient = arguments.input_gradient;
  return or_refused([&] { return dry_run(program).step; });
}

// What is told of an op, of one of its outputs and of a value: their numbers in the step.
struct ToldOutput {
  const RecordedStep& step;
  std::size_t op, output;

  ValueId value() const { return step.graph.ops[op].outputs[output]; }
  bool ran() const { return !step.memory[op].empty(); }
  OutputMemory memory() const { return ran() ? step.memory[op][output] : OutputMemory{}; }
  bool is_view() const { return step.graph.values[value()].storage != value(); }
};

Rows<ToldOutput> rows(const ToldOutput*) {
  return {{"value", kNumber, "the value that it is", &ToldOutput::value},
          {"in_place", "it is written over an input",
           [](auto& output) { return output.memory().input >= 0 && !output.is_view(); }},
          {"view", "it is a view of an input",
           [](auto& output) { return output.memory().input >= 0 && output.is_view(); }},
          {"input", kNumber, "that input; null: none",
           [](auto& output) {
             const OutputMemory& memory = output.memory();
             return only_if(output.ran(),
                            memory.input >= 0 ? std::optional(memory.input) : std::nullopt);
           }},
          {"reason", "why it is not written over the input that the op prefers", [](auto& output) {
             const std::string& reason = output.memory().reason;
             return only_if(output.ran(), reason.empty() ? std::nullopt : std::optional(reason));
           }}};
}

struct ToldOp {
  const RecordedStep& step;
  std::size_t number;

  const StepOp& op() const { return step.graph.ops[number]; }
  std::vector<ToldOutput> outputs() const {
    std::vector<ToldOutput> all;
    for (std::size_t j = 0; j < op().outputs.size(); ++j) all.push_back({step, number, j});
    return all;
  }
};

Rows<ToldOp> rows(const ToldOp*) {
  return {{"op", "what it computes", [](auto& told) { return told.op().name; }},
          {"layer", "its layer", [](auto& told) { return told.op().layer; }},
          {"phase", "its phase", [](auto& told) { return phase_name(told.op().phase); }},
          {"inputs", "the values that it reads", [](auto& told) { return told.op().inputs; }},
          {"outputs", "the values that it writes", &ToldOp::outputs},
          {"workspace", kBytes, "that it needs while it runs",
           [](auto& told) { return told.op().workspace_bytes; }}};
}

struct ToldValue {
  const RecordedStep& step;
  ValueId id;

  const StepValue& value() const { return step.graph.values[id]; }
};

Rows<ToldValue> rows(const ToldValue*) {
  return {
      {"value", kNumber, "its number", &ToldValue::id},
      {"name", "its name", [](auto& told) { return told.step.values[told.id].name; }},
      {"type", "type and extents", [](auto& told) { return told.step.values[told.id].spec.str(); }},
      {"bytes", kBytes, "of the value", [](auto& told) { return told.value().bytes; }},
      {"category", "its category", [](auto& told) { return category_name(told.value().category); }},
      {"resident", "it lives across steps", [](auto& told) { return told.value().resident; }},
      {"storage", kNumber, "the value that owns its bytes",
       [](auto& told) { return told.value().storage; }}};
}

// The ops of one phase, or of all.
struct ToldStep {
  const RecordedStep& step;
  std::optional<Phase> phase;

  std::vector<ToldOp> ops() const {
    std::vector<ToldOp> all;
    for (std::size_t k = 0; k < step.graph.ops.size(); ++k) {
      if (!phase || step.graph.ops[k].phase == *phase) all.push_back({step, k});
    }
    return all;
  }
  std::vector<ToldValue> values() const {
    std::vector<ToldValue> all;
    for (ValueId id = 0; id < step.values.size(); ++id) all.push_back({step, id});
    return all;
  }
};

Rows<ToldStep> rows(const ToldStep*) {
  return {{"ops", "the ops, in the order in which they run", &ToldStep::ops},
          {"values", "the values, by number", &ToldStep::values}};
}

CommandResult run(const OptionList& list, const GraphArguments& arguments, Console& console) {
  check_given(list, arguments.model.model);
  list.check_rules();
  const RecordedStep step = recorded_step(arguments);
  std::optional<Phase> phase;
  if (arguments.phase != kAllPhases) phase = phase_called(arguments.phase);
  const std::string ending = arguments.output.extension().string();
  const bool dot = arguments.dot || ending == ".dot";
  CommandResult result =
      told(ToldStep{step, phase}, dot ? to_dot(step, phase) : to_text(step, phase));
  if (!arguments.output.empty()) {
    const std::string text = std::exchange(result.text, {});
    write_and_say(arguments.output, ending == ".json" ? result.json + "\n" : text, console);
  }
  return result;
}

struct OrderCommandOptions {
  std::filesystem::path graph;
  std::string algorithm = std::string(kDefaultOrder);
  std::optional<double> time_limit_seconds;
  bool early_updates = false;
  std::filesystem::path output, page, trace, plan;
};

CommandResult run(const OrderCommandOptions& options, Console& console) {
  for (const auto* file : {&options.output, &options.page, &options.trace, &options.plan}) {
    require_folder_of(*file);
  }
  const OrderResult found = answer({.file = load_graph(options.graph),
                                    .algorithm = options.algorithm,
                                    .options = {.time_limit_seconds = options.time_limit_seconds},
                                    .early_updates = options.early_updates});
  const auto write = [&console](const std::filesystem::path& file, auto put) {
    if (file.empty()) return;
    std::ostringstream text;
    put(text);
    write_and_say(file, text.view(), console);
  };
  write(options.output, [&](auto& out) { write_order(out, found.file, found.answer); });
  write(options.page, [&](auto& out) { out << order_page(found); });
  write(options.trace, [&](auto& out) { write_trace_csv(out, found.trace, found.plan.alignment); });
  write(options.plan, [&](auto& out) { write_plan_csv(out, found.trace, found.plan); });
  return told(found, found.text());
}

struct OrderArguments {
  std::filesystem::path graph, order;
};

CommandResult run(const OrderArguments& arguments) {
  require_one_input(arguments.graph, arguments.order, "GRAPH and ORDER");
  const GraphFile graph = load_graph(arguments.graph);
  const OrderCheck check = check_order_file(graph, load_order(arguments.order));
  return told(check, check.text(), check.valid() ? 0 : 1);
}

}  // namespace

CommandRun declare_graph(OptionList& list) {
  const auto arguments = std::make_shared<GraphArguments>();
  add_model_options(list, arguments->model);
  list.add("--batch-size", integer(arguments->batch_size, 1, kMostImages),
           "Images, sentences or windows of a batch");
  list.add("--infer", flag(arguments->infer), "Run an inference step instead of a training step");
  list.add("--input-gradient", flag(arguments->input_gradient),
           "Compute the gradient of the images, too, as saliency maps need it", kImagesOnly)
      .excludes("--infer", "--input-gradient needs a backward pass: leave out --infer");
  add_step_options(list, arguments->step);
  list.add("--phase",
           choice(arguments->phase, {kAllPhases, "forward", "backward", "update"}, "phase"),
           "Ops to print");
  list.add("--dot", flag(arguments->dot), "Print a Graphviz graph instead of text");
  list.add("--output", path(arguments->output, "FILE"),
           "Write to FILE instead: a Graphviz graph if it ends in .dot, JSON if it ends in .json");
  list.prints(keys<ToldStep>);
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

CommandRun declare_order(OptionList& list) {
  const auto options = std::make_shared<OrderCommandOptions>();
  list.add("GRAPH", path(options->graph),
           "JSON of a step's graph, format skyline-graph; - reads standard input", kRequired);
  list.add("--algorithm", choice(options->algorithm, names_of(all_order_algorithms()), "algorithm"),
           help_of("What orders the ops.", all_order_algorithms()));
  list.add("--time-limit", number(options->time_limit_seconds, 0, kDay),
           "Seconds to search (default: a fixed amount of work, repeatable)");
  list.add(
      "--early-updates", flag(options->early_updates),
      "Force each update of a parameter to run early, by control edges, as OLLA does; says what "
      "that costs");
  list.add("--output", path(options->output, "ORDER.json"),
           "Write the order that was placed and the certificate of its bound");
  list.add(
      "--explain", path(options->page, "FILE.html"),
      "Write a page: the bytes alive at each op in the program's order and in this one, and why "
      "no order needs less");
  list.add("--write-trace", path(options->trace, "FILE.csv"), "Write the requests of the order");
  list.add("--write-plan", path(options->plan, "FILE.csv"),
           "Write its plan, as check takes it with that trace");
  list.prints(keys<OrderResult>);
  return [options](Console& console) { return run(*options, console); };
}

CommandRun declare_check_order(OptionList& list) {
  const auto arguments = std::make_shared<OrderArguments>();
  list.add("GRAPH", path(arguments->graph), "JSON of the step's graph; - reads standard input",
           kRequired);
  list.add("ORDER", path(arguments->order), "JSON of the order, as the command order writes it",
           kRequired);
  list.prints(keys<OrderCheck>);
  return [arguments](Console&) { return run(*arguments); };
}

}  // namespace skyline
