#pragma once

#include "framework/context.h"

namespace skyline {

// Opens a step of a context. The destructor abandons the step unless end() was called.
class StepScope {
 public:
  StepScope(Context& context, ShapeKey key) : context_(context) { context_.begin_step(key); }
  ~StepScope() {
    if (!ended_) context_.allocator().abandon_step();
  }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;
  void end() {
    context_.end_step();
    ended_ = true;
  }

 private:
  Context& context_;
  bool ended_ = false;
};

// Sets a context's mode until the end of the scope.
class ModeScope {
 public:
  ModeScope(Context& context, Mode mode) : context_(context), before_(context.options().mode) {
    context_.set_mode(mode);
  }
  ~ModeScope() { context_.set_mode(before_); }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  Context& context_;
  Mode before_;
};

// Restores a context's random stream at the end of the scope.
class RandomScope {
 public:
  explicit RandomScope(Context& context) : context_(context), before_(context.random()) {}
  ~RandomScope() { context_.random() = before_; }
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  Context& context_;
  RandomStream before_;
};

}  // namespace skyline
