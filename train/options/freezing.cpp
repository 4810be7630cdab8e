// frozen_parameters() of train_options.h.

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <set>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "models/gpt.h"
#include "models/models.h"
#include "train/cli/usage_error.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

// A parameter's name in the network and in files.
struct Named {
  std::string own, stored;
};

// "layer1.0" of "layer1.0.conv1".
std::string owner_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

// Makes the network without memory: names depend on neither images nor words.
std::vector<Named> names_in(const TrainOptions& options, Mode mode) {
  SimulatedDevice device;
  BestFitPool pool(device);
  Context context(pool, {.dry_run = Emulation(), .mode = mode});
  const std::string& model = options.model;
  std::unique_ptr<Network> network;
  if (model == kSeq2Seq) {
    network = std::make_unique<Seq2Seq>(context, seq2seq_shape(options.text, 1, 1));
  } else if (find_gpt(model) != nullptr) {
    network = std::make_unique<Gpt>(context, gpt_shape(model, options.text, 1));
  } else {
    const ModelEntry& entry = find_model(model);
    network = entry.make(context, entry.shape);
  }
  std::vector<Named> names;
  for (const Parameter& parameter : network->parameters()) {
    const auto stored = std::ranges::find_if(network->weights(), [&](const StoredWeight& weight) {
      return weight.value.storage() == parameter.value.storage();
    });
    names.push_back({parameter.name, stored->name});
  }
  return names;
}

bool is_in(const std::string& name, const std::string& layer) {
  return fnmatch(layer.c_str(), name.c_str(), 0) == 0 ||
         fnmatch((layer + ".*").c_str(), name.c_str(), 0) == 0;
}

// All layers that files name, outer ones first.
std::vector<std::string> layers_of(const std::vector<Named>& all) {
  std::set<std::string> layers;
  for (const Named& name : all) {
    for (std::string layer = owner_of(name.stored); !layer.empty(); layer = owner_of(layer)) {
      layers.insert(layer);
    }
  }
  std::vector<std::string> sorted(layers.begin(), layers.end());
  std::ranges::stable_sort(sorted, {},
                           [](const std::string& layer) { return std::ranges::count(layer, '.'); });
  return sorted;
}

std::set<std::string> within(const std::string& layer, const std::vector<Named>& all) {
  for (std::string Named::*const name : {&Named::stored, &Named::own}) {
    std::set<std::string> found;
    for (const Named& parameter : all) {
      if (is_in(parameter.*name, layer)) found.insert(parameter.own);
    }
    if (!found.empty()) return found;
  }
  std::vector<std::string> known = layers_of(all);
  if (!nearest(layer, known)) {  // hundreds
    std::erase_if(known, [](const std::string& name) { return name.find('.') != name.npos; });
  }
  throw UsageError("--freeze: " + unknown_name("layer", layer, known));
}

}  // namespace

std::vector<std::string> frozen_parameters(const TrainOptions& options) {
  const StepOptions& step = options.step;
  if (step.freeze.empty() && !step.train_last) return {};
  const std::vector<Named> all = names_in(options, Mode::kTraining);
  std::set<std::string> frozen;
  for (const std::string& layer : step.freeze) frozen.merge(within(layer, all));
  if (step.train_last) {
    // Without the auxiliary heads, which are only in training.
    const std::string last = names_in(options, Mode::kInference).back().own;
    for (const Named& name : all) {
      if (owner_of(name.own) != owner_of(last)) frozen.insert(name.own);
    }
  }
  if (frozen.size() == all.size()) {
    throw UsageError(
        fmt::format("--freeze names every layer of {}: nothing would be trained", options.model));
  }
  return {frozen.begin(), frozen.end()};
}

}  // namespace skyline
