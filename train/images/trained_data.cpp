#include "train/images/trained_data.h"

#include <nlohmann/json.hpp>

#include "data/errors.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kClasses = "classes";
constexpr const char* kInput = "input";
constexpr const char* kNormalisation = "normalisation";

// Returns a class name as a checkpoint stores it, in UTF-8, between quotes.
std::string stored_text(const std::string& name) {
  return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void store_data(const ImageData& data, TrainingPosition& position) {
  Json& more = *position.more;
  more[kClasses] = data.test->class_names();
  const ImageShape shape = data.test->image_shape();
  more[kInput] = {shape.channels, shape.height, shape.width};
  if (!data.normalisation) return;
  more[kNormalisation] = {{"mean", data.normalisation->mean},
                          {"deviation", data.normalisation->deviation}};
}

TrainedData trained_data(const TrainingPosition& position) {
  const Json& more = *position.more;
  TrainedData data;
  try {
    if (more.contains(kClasses)) {
      data.class_names = more[kClasses].get<std::vector<std::string>>();
    }
    if (more.contains(kInput)) {
      const Json& input = more[kInput];
      data.input = ImageShape{input.at(0), input.at(1), input.at(2)};
    }
    if (more.contains(kNormalisation)) {
      const Json& stored = more[kNormalisation];
      data.normalisation = Normalisation{stored.at("mean"), stored.at("deviation")};
    }
  } catch (const Json::exception& error) {
    throw CheckpointError(
        std::string("the checkpoint's facts about its training data are damaged: ") + error.what());
  }
  return data;
}

void check_classes(const ImageData& data, const TrainedData& trained, bool compare_names) {
  if (trained.class_names.empty()) return;
  const std::vector<std::string>& here = data.test->class_names();
  if (here.size() != trained.class_names.size()) {
    throw DataError(data.test->name(), "number of classes", std::to_string(here.size()),
                    std::to_string(trained.class_names.size()) + ", as in training");
  }
  for (std::size_t label = 0; compare_names && label < here.size(); ++label) {
    const std::string name = stored_text(here[label]);
    if (name == stored_text(trained.class_names[label])) continue;
    throw DataError(data.test->name(), "class " + std::to_string(label), name,
                    stored_text(trained.class_names[label]) + ", as in training");
  }
}

}  // namespace skyline
