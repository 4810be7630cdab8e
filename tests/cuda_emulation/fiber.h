#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace cuda_emulation {

// A function with its own stack, which runs until it yields.
class Fiber {
 public:
  // `body` never returns.
  explicit Fiber(std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // Runs the body until it yields. Must not be called inside a fiber.
  void resume();
  // Called by the body; returns to resume().
  void yield();

 private:
  static void enter(Fiber* fiber);

  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  struct Switch;  // the two stacks, for the processor and for the address sanitizer
  std::unique_ptr<Switch> switch_;
};

}  // namespace cuda_emulation
