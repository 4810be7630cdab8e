#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "models/model.h"

namespace skyline {

// Makes a model for such images. Throws ShapeError for images that are too small for it.
using MakeModel = std::unique_ptr<Model>(Context& context, const ModelShape& shape);
MakeModel make_alexnet, make_googlenet, make_inception_resnet, make_inception_resnet_figure,
    make_lenet, make_mlp, make_mobilenet_v2, make_resnet18, make_resnet20, make_resnet50,
    make_vgg16;

// A row of the table of models. To add one: a source, its maker above, a test, and a row in
// models.cpp.
struct ModelEntry {
  std::string_view name;
  std::string_view summary;  // one line, no full stop
  ModelShape shape;          // the paper's
  float learning_rate;       // for batches of 32 with momentum 0.9, decaying to 0
  // Threads that speed its steps up; 0: one a core. In steps of milliseconds, waiting for a second
  // thread on a shared core takes longer than that thread saves.
  int threads;
  MakeModel* make;
};

// Every model, cheapest first.
std::span<const ModelEntry> models();

// Throws std::invalid_argument for an unknown name.
const ModelEntry& find_model(std::string_view name);

// Number of elements of these parameters, or of all of a network.
std::int64_t parameter_count(std::span<const Parameter> parameters);
std::int64_t parameter_count(const Network& network);

}  // namespace skyline
