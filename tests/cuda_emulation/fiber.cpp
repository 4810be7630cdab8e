#include "tests/cuda_emulation/fiber.h"

#include <cstdint>
#include <cstdlib>

#ifdef SKYLINE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace cuda_emulation {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;  // sanitizers enlarge frames

}  // namespace

#if defined(__x86_64__)

// swapcontext() enters the kernel to set the signal mask, which takes a hundred times as long.
extern "C" void cuda_emulation_switch(void** from, void* to);
asm(R"(
.text
.globl cuda_emulation_switch
.type cuda_emulation_switch, @function
cuda_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuda_emulation_switch, .-cuda_emulation_switch
)");

namespace {

struct Machine {
  void* own = nullptr;
  void* caller = nullptr;

  // resume() first jumps to `entered`, which finds its fiber in `starting`.
  void prepare(std::byte* stack, void (*entered)()) {
    constexpr int kSavedRegisters = 6;
    auto top = reinterpret_cast<std::uintptr_t>(stack + kStackBytes) / 16 * 16;
    auto* words = reinterpret_cast<std::uintptr_t*>(top) - 2;  // room for a return address, aligned
    *words = reinterpret_cast<std::uintptr_t>(entered);
    for (int i = 0; i < kSavedRegisters; ++i) *--words = 0;
    own = words;
  }
  void to_own() { cuda_emulation_switch(&caller, own); }
  void to_caller() { cuda_emulation_switch(&own, caller); }
};

}  // namespace

#else

namespace {

struct Machine {
  ucontext_t own, caller;

  void prepare(std::byte* stack, void (*entered)()) {
    getcontext(&own);
    own.uc_stack.ss_sp = stack;
    own.uc_stack.ss_size = kStackBytes;
    makecontext(&own, entered, 0);
  }
  void to_own() { swapcontext(&caller, &own); }
  void to_caller() { swapcontext(&own, &caller); }
};

}  // namespace

#endif

// The address sanitizer must be told which stack the program runs on.
struct Fiber::Switch {
  Machine machine;
  void* own_fake = nullptr;
  void* caller_fake = nullptr;
  const void* caller_bottom = nullptr;
  std::size_t caller_bytes = 0;

#ifdef SKYLINE_ADDRESS_SANITIZER
  void leave(void** fake, const void* bottom, std::size_t bytes) {
    __sanitizer_start_switch_fiber(fake, bottom, bytes);
  }
  void arrive(void* fake, const void** bottom, std::size_t* bytes) {
    __sanitizer_finish_switch_fiber(fake, bottom, bytes);
  }
#else
  void leave(void**, const void*, std::size_t) {}
  void arrive(void*, const void**, std::size_t*) {}
#endif
};

namespace {

Fiber* starting = nullptr;

}  // namespace

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)),
      stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)),
      switch_(std::make_unique<Switch>()) {
  switch_->machine.prepare(stack_.get(), [] { enter(starting); });
}

// Clears the address sanitizer's marks that an abandoned body left on the stack.
Fiber::~Fiber() {
#ifdef SKYLINE_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(stack_.get(), kStackBytes);
#endif
}

void Fiber::enter(Fiber* fiber) {
  Switch& to = *fiber->switch_;
  to.arrive(nullptr, &to.caller_bottom, &to.caller_bytes);
  fiber->body_();
  std::abort();  // the body must not return
}

void Fiber::resume() {
  starting = this;
  switch_->leave(&switch_->caller_fake, stack_.get(), kStackBytes);
  switch_->machine.to_own();
  switch_->arrive(switch_->caller_fake, nullptr, nullptr);
}

void Fiber::yield() {
  switch_->leave(&switch_->own_fake, switch_->caller_bottom, switch_->caller_bytes);
  switch_->machine.to_caller();
  switch_->arrive(switch_->own_fake, &switch_->caller_bottom, &switch_->caller_bytes);
}

}  // namespace cuda_emulation
