#pragma once

#include "framework/context.h"

namespace skyline {

// A part of a step that is not hot, during its life: work that only some steps do, for example. Its
// requests enter no plan (PGMO section 4.3), its ops no recorded step, and they run one by one
// after all earlier ops, each at once. The part keeps no gradient: it runs in inference mode, and
// leaves the random stream unchanged. Parts do not nest. Throws the first error of an op that was
// held back.
class InterruptionScope {
 public:
  explicit InterruptionScope(Context& context)
      : context_(context),
        random_(context.random_),
        runner_(context.other_runner_),
        watch_(context.watch_),
        staged_bytes_(context.staging_.used_bytes),
        mode_(context.options_.mode),
        runner_records_(context.runner_records_) {
    context_.runner().wait();
    context_.allocator_.interrupt();
    if (runner_ == nullptr) context_.other_runner_ = &inline_runner();
    context_.watch_ = {.check_finite = watch_.check_finite};
    context_.staging_.used_bytes = context_.staging_.memory.bytes();  // for the step's own uploads
    context_.options_.mode = Mode::kInference;
    context_.runner_records_ = false;
  }
  ~InterruptionScope() {
    context_.runner_records_ = runner_records_;
    context_.options_.mode = mode_;
    context_.staging_.used_bytes = staged_bytes_;
    context_.watch_ = watch_;
    context_.other_runner_ = runner_;
    context_.allocator_.resume();
    context_.random_ = random_;
  }
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  Context& context_;
  RandomStream random_;
  Runner* runner_;
  StepWatch watch_;
  std::size_t staged_bytes_;
  Mode mode_;
  bool runner_records_;
};

}  // namespace skyline
