#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "models/models.h"
#include "tests/memory/planners/effort.h"

// The networks for ImageNet: those of the profile-guided paper and three that others measure.
namespace skyline::tests {

// A network has `parameters` + classes * `for_each_class` parameters.
struct PaperNetwork {
  std::string name;
  int smallest_image;  // in training; smaller images throw ShapeError
  std::int64_t parameters;
  std::int64_t for_each_class;
  std::int64_t running_values;
};

// Counts from the literature: Chainer's alex.py, googlenet.py and resnet50.py (torchvision's
// resnet50, 25,557,032 for 1000 classes, plus conv1's bias); TF-slim's inception_resnet_v2; that
// network as the paper draws it, counted by hand; torchvision's mobilenet_v2, resnet18 and vgg16.
inline const std::vector<PaperNetwork>& paper_networks() {
  static const std::vector<PaperNetwork> networks = {
      {"alexnet", 55, 58'281'344, 4'097, 0},
      {"googlenet", 79, 10'303'280, 3'075, 0},
      {"resnet50", 5, 23'508'096, 2'049, 53'120},
      {"inception-resnet-figure", 75, 30'288'928, 2'145, 32'864},
      {"inception-resnet", 75, 54'306'464, 1'537, 60'544},
      {"mobilenet_v2", 1, 2'223'872, 1'281, 34'112},
      {"resnet18", 1, 11'176'512, 513, 9'600},
      {"vgg16", 32, 134'260'544, 4'097, 0},
  };
  return networks;
}

// One network of each structure; all at night. vgg16 has the layers of alexnet and 134 million
// parameters, resnet18 the blocks of the small resnet20, and the paper's own drawing of
// inception-resnet the layers of the other.
inline std::vector<PaperNetwork> networks_by_day() {
  std::vector<PaperNetwork> networks = paper_networks();
  if (runs_at_night()) return networks;
  std::erase_if(networks, [](const PaperNetwork& network) {
    return network.name == "vgg16" || network.name == "resnet18" ||
           network.name == "inception-resnet-figure";
  });
  return networks;
}

inline void PrintTo(const PaperNetwork& network, std::ostream* out) { *out << network.name; }

// Returns a name that GoogleTest accepts: "inception_resnet".
inline std::string test_name(std::string name) {
  for (char& letter : name) letter = letter == '-' ? '_' : letter;
  return name;
}

// Images of `size` x `size` for ten classes.
inline ModelShape with_images(const std::string& model, int size) {
  ModelShape shape = find_model(model).shape;
  shape.height = shape.width = size;
  shape.classes = 10;
  return shape;
}

}  // namespace skyline::tests
