#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/op.h"
#include "framework/step_recorder.h"
#include "framework/tensor.h"

namespace skyline {

class Context;
class Node;

std::vector<TensorSpec> specs_of(const std::vector<Tensor>& tensors);

// How the backward pass computes a tensor that was not retained: `op` over tensors that are
// retained or are recomputed themselves.
struct RecomputeStep {
  // One input of the step: a tensor without history or, if that is empty, another step.
  struct Source {
    Tensor tensor;
    std::shared_ptr<const RecomputeStep> step;
  };

  std::shared_ptr<const Op> op;
  std::string layer;
  TensorSpec spec;          // of the tensor
  int output = 0;           // of the op: the tensor
  std::size_t outputs = 1;  // that the op makes; the others are dropped
  std::vector<Source> sources;
  int depth = 1;      // number of ops on the longest chain that ends here
  bool each = false;  // runs again for each reader; see Recomputing
};

// The tensors that the nodes of a forward op keep for backward. Inputs are retained before the op
// runs, so that it cannot write over what its gradient or a recompute step will read; outputs are
// retained afterwards. Recomputes outputs instead of retaining them if the context's options say
// so; a view of a recomputed tensor is recomputed, too, or it would retain the bytes.
class Retention {
 public:
  // `first` and `last` are the ends of a chain of nodes, null if no gradient will be computed.
  Retention(Context& context, const std::shared_ptr<const Op>& op, Node* first, Node* last,
            const std::vector<Tensor>& inputs, const std::string& layer);

  // Call it after the op has run.
  void keep(const std::vector<Tensor>& outputs);

 private:
  // An output that can be computed again.
  struct Candidate {
    Recomputation how;
    ValueName name;
    std::shared_ptr<const Op> op;         // the one that can run again
    std::shared_ptr<RecomputeStep> step;  // null: the output is not recomputed
    // While the step is recorded: how the op could run again.
    std::optional<RecordedRecomputation> recomputation;
    std::vector<TensorSpec> input_specs;  // of its inputs
  };

  void begin_view(const std::vector<Tensor>& inputs, const std::string& layer);
  void choose_step(Candidate& output, const std::vector<Tensor>& inputs, const std::string& layer);
  void begin_step(Candidate& output, const std::vector<Tensor>& inputs, const std::string& layer);
  void complete_step(Candidate& output, const std::vector<Tensor>& outputs);
  void begin_recomputation(Candidate& output, const std::vector<Tensor>& inputs);
  void complete_recomputation(Candidate& output, const std::vector<Tensor>& outputs);

  Context& context_;
  std::shared_ptr<const Op> op_;
  Node* last_;
  std::vector<Candidate> candidates_;
};

}  // namespace skyline
