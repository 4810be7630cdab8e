#include "train/lab/order/model_story.h"

#include "train/budget/device_speed.h"

namespace skyline {

std::optional<StepStory> model_story(const RecordedStep& step, const Trace& trace,
                                     const TrainOptions& options) {
  const DeviceSpeed speed = assumed_speed(options.memory.device);
  return step_story(step, trace, options.step.in_place,
                    {.of = foreseen_seconds(step, speed), .source = speed.text()});
}

}  // namespace skyline
