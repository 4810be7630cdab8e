#include "train/images/auxiliary_names.h"

#include "train/images/image_run.h"

namespace skyline {
namespace {

std::set<std::string> names_in(Mode mode, const ModelEntry& entry, const ModelShape& shape) {
  MemoryOptions memory;
  memory.device = "simulated";
  memory.allocator = "best-fit-pool";
  const ImageRun run(memory, {.execute = false, .mode = mode},
                     {.model = std::string(entry.name), .shape = shape});
  std::set<std::string> names;
  for (const StoredWeight& weight : run.network().weights()) names.insert(weight.name);
  return names;
}

}  // namespace

std::set<std::string> auxiliary_names(const ModelEntry& entry, const ModelShape& shape) {
  std::set<std::string> names = names_in(Mode::kTraining, entry, shape);
  for (const std::string& name : names_in(Mode::kInference, entry, shape)) names.erase(name);
  return names;
}

}  // namespace skyline
