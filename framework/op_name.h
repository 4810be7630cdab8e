#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "framework/op.h"

namespace skyline {

// An op of a step, by what its graph says of it.
struct OpName {
  Phase phase = Phase::kForward;
  std::string_view op, layer;
};

// How long an op ran.
struct OpTime {
  std::string name, layer;
  Phase phase = Phase::kForward;
  double seconds = 0;
};

// Observers of the ops that a context runs. They change no result.
struct StepWatch {
  bool check_finite = false;  // check every output after every op; slow
  bool record_graph = false;  // record the running step, see Context::recorded_step()
  // Receives the time of each op that runs, in the order of execution; the context waits for the
  // device before and after the op. Null: measures nothing.
  std::vector<OpTime>* op_times = nullptr;
};

// An output with a NaN or an infinity, found under StepWatch::check_finite.
class NotFinite : public std::runtime_error {
 public:
  explicit NotFinite(const OpName& name)
      : std::runtime_error("[" + op_of_layer(name.op, name.layer) + "] the " +
                           std::string(phase_name(name.phase)) +
                           " pass made a value that is not finite"),
        op_(name.op),
        layer_(name.layer) {}
  const std::string& op() const noexcept { return op_; }
  const std::string& layer() const noexcept { return layer_; }

 private:
  std::string op_, layer_;
};

}  // namespace skyline
