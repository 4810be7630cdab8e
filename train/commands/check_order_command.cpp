#include <memory>

#include "train/commands/commands.h"
#include "train/lab/load_file.h"
#include "train/lab/order/order_result.h"

namespace skyline {
namespace {

struct OrderArguments {
  std::filesystem::path graph, order;
};

CommandResult run(const OrderArguments& arguments) {
  if (arguments.graph == "-" && arguments.order == "-") {
    throw UsageError("only one of GRAPH and ORDER can be standard input");
  }
  const GraphFile graph = load_graph(arguments.graph);
  const OrderCheck check = check_order_file(graph, load_order(arguments.order));
  return {
      .json = json_text(value_of(check)), .text = check.text(), .exit_code = check.valid() ? 0 : 1};
}

}  // namespace

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
