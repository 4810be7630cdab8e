#pragma once

#include <utility>

#include "framework/ops/connection/embedding.h"
#include "layers/layer.h"

namespace skyline {

// A table of `words` vectors of `features` numbers, parameter "weight" [words, features], initially
// standard normal like Chainer's EmbedID unless another initializer is given.
class Embedding : public Layer {
 public:
  struct Options {
    std::int64_t words = 1;
    std::int64_t features = 1;
    Initializer initializer = lecun_normal;
  };

  Embedding(Context& context, std::string_view name, const Options& options) : Layer(name) {
    add_weight(context, {"weight"}, {{options.words, options.features}}, 1, options.initializer);
  }

  // ids i32 [R] to [R, features]. Throws WordError on an unknown id.
  Tensor operator()(Context& context, Tensor ids) const {
    const LayerScope scope(context, name());
    return embedding(context, std::move(ids), parameter(0));
  }
};

}  // namespace skyline
