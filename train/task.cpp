#include "train/task.h"

#include "train/image_task.h"
#include "train/train_options.h"
#include "train/translation_task.h"

namespace skyline {

std::unique_ptr<Task> make_task(const TrainOptions& options, SessionListener listener,
                                Console& console) {
  if (translates(options)) {
    return std::make_unique<TranslationTask>(options, std::move(listener), console);
  }
  return std::make_unique<ImageTask>(options, std::move(listener), console);
}

}  // namespace skyline
