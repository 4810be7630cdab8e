#include "framework/graph_text.h"

#include <set>
#include <utility>

#include "framework/op.h"

namespace skyline {
namespace {

bool selected(const StepOp& op, const std::optional<Phase>& phase) {
  return !phase || op.phase == *phase;
}

std::string value_text(const RecordedStep& step, ValueId id) {
  const ValueInfo& info = step.values[id];
  return "v" + std::to_string(id) + " " + info.name + " " + info.spec.str();
}

std::string line_of(const RecordedStep& step, std::size_t number) {
  const StepOp& op = step.graph.ops[number];
  std::string line = std::string(phase_name(op.phase)) + " " + op_of_layer(op.name, op.layer);
  const char* before = " | reads ";
  for (const ValueId input : op.inputs) {
    line += std::exchange(before, ", ") + value_text(step, input);
  }
  before = " | writes ";
  for (std::size_t j = 0; j < op.outputs.size(); ++j) {
    line += std::exchange(before, ", ") + value_text(step, op.outputs[j]);
    const std::string memory = memory_text(step, number, j);
    if (!memory.empty()) line += ", " + memory;
  }
  if (op.workspace_bytes > 0) {
    line += " | workspace " + std::to_string(op.workspace_bytes) + " B";
  }
  return line + "\n";
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string dot_of(const StepOp& op, std::size_t number) {
  const std::string name = "op" + std::to_string(number);
  std::string dot =
      "  " + name + " [shape=box, label=" + quoted(op_of_layer(op.name, op.layer)) + "];\n";
  for (const ValueId input : op.inputs)
    dot += "  v" + std::to_string(input) + " -> " + name + ";\n";
  for (const ValueId output : op.outputs) {
    dot += "  " + name + " -> v" + std::to_string(output) + ";\n";
  }
  return dot;
}

}  // namespace

std::string memory_text(const RecordedStep& step, std::size_t op, std::size_t output) {
  if (step.memory[op].empty()) return {};
  const OutputMemory& memory = step.memory[op][output];
  const ValueId id = step.graph.ops[op].outputs[output];
  const std::string input = "input " + std::to_string(memory.input);
  if (memory.input < 0) return (step.graph.values[id].resident ? "" : "new: ") + memory.reason;
  if (step.graph.values[id].storage != id) return "a view of " + input;
  return "over " + input + (memory.reason.empty() ? "" : " (" + memory.reason + ")");
}

std::string to_text(const RecordedStep& step, std::optional<Phase> phase) {
  std::string text;
  for (std::size_t k = 0; k < step.graph.ops.size(); ++k) {
    if (selected(step.graph.ops[k], phase)) text += line_of(step, k);
  }
  return text;
}

std::string to_dot(const RecordedStep& step, std::optional<Phase> phase) {
  std::string dot = "digraph step {\n";
  std::set<ValueId> values;
  for (std::size_t k = 0; k < step.graph.ops.size(); ++k) {
    const StepOp& op = step.graph.ops[k];
    if (!selected(op, phase)) continue;
    dot += dot_of(op, k);
    values.insert(op.inputs.begin(), op.inputs.end());
    values.insert(op.outputs.begin(), op.outputs.end());
  }
  for (const ValueId id : values) {
    dot += "  v" + std::to_string(id) + " [label=" + quoted(step.values[id].name) + "];\n";
  }
  return dot + "}\n";
}

}  // namespace skyline
