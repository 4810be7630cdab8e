#pragma once

#include "train/options/train_options.h"
#include "train/report/step_story.h"

namespace skyline {

// The story of a step with the seconds of the device's model (decide/step_seconds.h).
std::optional<StepStory> model_story(const RecordedStep& step, const Trace& trace,
                                     const TrainOptions& options);

}  // namespace skyline
