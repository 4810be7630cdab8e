#pragma once

#include <utility>

#include "framework/ops/connection/embedding.h"
#include "framework/ops/connection/linear.h"
#include "layers/layer.h"

namespace skyline {

// A fully connected layer with weight [out, in] and, if wanted, bias [out], initially zero. Calls
// throw ShapeError unless x has `in` features.
class Linear : public Layer {
 public:
  struct Options {
    std::int64_t in = 1;
    std::int64_t out = 1;
    std::int64_t channels = 1;  // of the image that x was flattened from, if it had several pixels
    Initializer initializer = lecun_normal;
    bool bias = true;
    bool transposed = false;  // files have the weight as [in, out]
  };

  Linear(Context& context, std::string_view name, const Options& options) : Layer(name) {
    add_weight(context, {"weight"}, {{options.out, options.in}}, options.in, options.initializer,
               options.channels);
    if (options.transposed) transpose_in_files();
    if (options.bias) add_parameter(context, {"bias"}, {{options.out}}, 0);
  }

  // x [N, in] to [N, out].
  Tensor operator()(Context& context, Tensor x) const {
    const LayerScope scope(context, name());
    return linear(context, std::move(x), parameter(0), parameter(1));
  }
};

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
