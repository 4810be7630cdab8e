// Separate from workload.h, so that the interface depends on neither of its implementations.

#include "train/images/image_workload.h"
#include "train/options/train_options.h"
#include "train/run/use_threads.h"
#include "train/translation/translation_workload.h"
#include "train/workload.h"

namespace skyline {

std::unique_ptr<Workload> make_workload(const TrainOptions& options, Console& console) {
  warn_of_threads(options.threads * options.device.lanes, console);
  use_threads(options.threads);
  std::unique_ptr<Workload> workload;
  if (translates(options)) {
    workload = std::make_unique<TranslationWorkload>(options, console);
  } else {
    workload = std::make_unique<ImageWorkload>(options, console);
  }
  workload->choose_sums();
  workload->plan_budget();
  if (workload->budget()) console.say(workload->budget()->text());
  return workload;
}

}  // namespace skyline
