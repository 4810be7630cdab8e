#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "layers/linear.h"
#include "models/inception/inception_blocks.h"
#include "models/model.h"

namespace skyline {

// Inception-ResNet v2 (Szegedy, Ioffe, Vanhoucke, Alemi 2016, arXiv:1602.07261, figure 15).
//
//   stem - block35 … - reduction_a - block17 … - reduction_b - block8 … - global average
//   - dropout 0.2 - fc
//
// Follows the form that its authors published in TF-slim: 10, 20 and 10 blocks, mixed_5b at the end
// of the stem, the last block8 neither scaled nor with a relu, conv7b before the average.
// 55,843,464 parameters and 60,544 running values for RGB images and 1000 classes; 13.156 G
// multiply-adds at 299 x 299. Images of at least 75 x 75.
class InceptionResNet : public Model {
 public:
  // Throws ShapeError for smaller images.
  InceptionResNet(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 protected:
  // The differences between the two forms.
  struct Form {
    std::string model;  // its name
    std::vector<std::pair<std::string, std::vector<Branch>>> stem;
    int block35, block17, block8;  // numbers of blocks
    InceptionResidualBlock::Options last_block8;
    bool conv7b;
  };
  InceptionResNet(Context& context, const ModelShape& shape, const Form& form);

 private:
  void add_module(Context& context, const std::string& name, std::vector<Branch> branches);
  void add_block(Context& context, const std::string& name,
                 const InceptionResidualBlock::Options& options);
  void add_blocks(Context& context, const std::string& name, int count,
                  const InceptionResidualBlock::Options& options);

  std::vector<std::variant<InceptionModule, InceptionResidualBlock>> modules_;
  int channels_;  // of the last module's output
  std::optional<Linear> fc_;
};

// The form drawn in the paper: Inception-v4's stem, 5, 10 and 5 blocks. 32,433,928 parameters and
// 32,864 running values; 9.258 G multiply-adds. The figures give 1154 and 2048 channels after the
// reductions, which does not add up; here they are 1152 and 2144.
class InceptionResNetFigure : public InceptionResNet {
 public:
  InceptionResNetFigure(Context& context, const ModelShape& shape);
};

}  // namespace skyline
