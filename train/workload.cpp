#include "train/workload.h"

#include <omp.h>

#include "train/images/image_workload.h"
#include "train/options/train_options.h"
#include "train/translation/translation_workload.h"

namespace skyline {

std::unique_ptr<Task> make_task(const TrainOptions& options, SessionListener listener,
                                Console& console) {
  omp_set_num_threads(static_cast<int>(options.threads));
  if (translates(options)) {
    return std::make_unique<TranslationTask>(options, std::move(listener), console);
  }
  return std::make_unique<ImageTask>(options, std::move(listener), console);
}

}  // namespace skyline
