#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/op.h"

namespace skyline {

// Ops that run one after another on some images of a batch.
struct RoundProgram {
  struct Value {
    enum class Kind {
      kInput,
      kOutput,
      kSum,    // an output to which each round adds its part
      kInside  // lives in the workspace
    };
    Kind kind = Kind::kInside;
    std::size_t index = 0;  // of the input or output
    TensorSpec spec = {};
    // True if its first axis are the round's images; else all rounds have the same bytes.
    bool of_images = true;
  };
  struct Call {
    std::shared_ptr<const Op> op;
    std::string layer;
    std::vector<std::size_t> inputs, outputs;  // values
  };
  // Adds a value; returns its number.
  std::size_t add(Value value);
  // Adds a call of `op` whose outputs are new values of `kind`; returns these.
  std::vector<std::size_t> call(const std::shared_ptr<const Op>& op, const std::string& layer,
                                std::vector<std::size_t> inputs, Value::Kind kind);
  std::vector<TensorSpec> specs(const std::vector<std::size_t>& of) const;

  std::vector<Value> values;
  std::vector<Call> calls;
};

// An op that runs a program on `round` images of its `images` at a time. It computes each image as
// the program's ops do, and sums in the sequence of the rounds.
struct RoundsDeclaration {
  std::string name;
  std::string parameters;  // what the program depends on besides the op's inputs
  Category category = Category::kActivation;
  std::int64_t images = 0, round = 0;
  // Returns the program of so many images; all have the same calls.
  std::function<RoundProgram(std::int64_t images)> program;
  std::function<std::vector<GradientCall>(const std::vector<bool>& needed)> gradient = {};
  std::shared_ptr<const Op> bare = {};  // makes output 0 alone, again; null: the op does
};

// Workspace: what lives inside a round, the kernels' workspaces and, if there are several rounds,
// parts of sums, each as long as calls use it.
std::shared_ptr<const Op> rounds_op(RoundsDeclaration declaration);

// Returns the spec of other many images of the same kind. Throws ShapeError if it has no image.
TensorSpec with_images(const TensorSpec& spec, std::int64_t images);

}  // namespace skyline
