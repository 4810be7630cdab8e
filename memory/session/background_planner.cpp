#include "memory/session/background_planner.h"

#include <chrono>
#include <utility>

namespace skyline {

bool BackgroundPlanner::finished() const {
  return busy() && plan_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void BackgroundPlanner::begin(const Order& order, StepRecording recording, StepPlanner planner) {
  plan_ = std::async(std::launch::async, plan_step, std::move(recording), std::move(planner));
  order_ = order;
}

void BackgroundPlanner::wait() const {
  if (busy()) plan_.wait();
}

}  // namespace skyline
