#include "layers/embedding.h"

#include <utility>

namespace skyline {

Embedding::Embedding(Context& context, std::string_view name, const Options& options)
    : Layer(name) {
  add_weight(context, {"weight"}, {{options.words, options.features}}, 1, options.initializer);
}

Tensor Embedding::operator()(Context& context, Tensor ids) const {
  const LayerScope scope(context, name());
  return embedding(context, std::move(ids), parameter(0));
}

}  // namespace skyline
