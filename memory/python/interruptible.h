#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

namespace skyline {

// Returns work(stop), which must own all that it uses and know nothing of Python. Other threads of
// Python run meanwhile. Ctrl-C asks the work to stop and raises KeyboardInterrupt when it has, or
// after a second: a solver that takes no such order then goes on in a thread that nobody waits for.
// Work that ends soon runs in this thread: waking a thread takes milliseconds on a busy machine.
// Ctrl-C then waits for its end.
template <class Work>
auto interruptible(Work work, bool ends_soon = false) {
  using namespace std::chrono_literals;
  if (ends_soon) {
    const pybind11::gil_scoped_release others_run;
    return work(std::stop_source(std::nostopstate));
  }
  std::stop_source stop;
  std::packaged_task<decltype(work(stop))()> task(
      [work = std::move(work), stop]() mutable { return work(stop); });
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  const auto ended_within = [&](std::chrono::milliseconds time) {
    const pybind11::gil_scoped_release others_run;
    return result.wait_for(time) == std::future_status::ready;
  };
  while (!ended_within(50ms)) {
    if (PyErr_CheckSignals() == 0) continue;
    stop.request_stop();
    ended_within(1s);
    throw pybind11::error_already_set();
  }
  return result.get();
}

}  // namespace skyline
