#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace skyline {

// Returns work(), which must own all that it uses and know nothing of Python. Other threads of
// Python run meanwhile. Ctrl-C raises KeyboardInterrupt at once; the work then goes on in a thread
// that nobody waits for, because searches take no order to stop. Work that ends soon runs in this
// thread: waking a thread takes milliseconds on a busy machine. Ctrl-C then waits for its end.
template <class Work>
auto interruptible(Work work, bool ends_soon = false) {
  if (ends_soon) {
    const pybind11::gil_scoped_release others_run;
    return work();
  }
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  for (;;) {
    std::future_status status;
    {
      const pybind11::gil_scoped_release others_run;
      status = result.wait_for(std::chrono::milliseconds(50));
    }
    if (status == std::future_status::ready) return result.get();
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  }
}

}  // namespace skyline
