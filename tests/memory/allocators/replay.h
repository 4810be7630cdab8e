#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/allocator.h"

namespace skyline {

// One line of an event trace: 'a' requests bytes, 'f' frees, 's' starts a step.
struct AllocatorEvent {
  char event = 'a';
  std::string id;
  std::size_t bytes = 0;
};

// Replays the events, without refused requests. Blocks that are never freed live until the return;
// `at_end` is called before that.
inline void replay(
    const std::vector<AllocatorEvent>& events, Allocator& allocator,
    const std::function<void()>& at_end = [] {}) {
  std::unordered_map<std::string, Block> live;
  bool in_step = false;
  for (const AllocatorEvent& event : events) {
    if (event.event == 'f') {
      live.erase(event.id);
    } else if (event.event == 'a') {
      live[event.id] = allocator.allocate(event.bytes);
    } else {
      if (std::exchange(in_step, true)) allocator.end_step();
      allocator.begin_step(0);
    }
  }
  if (in_step) allocator.end_step();
  at_end();
}

}  // namespace skyline
