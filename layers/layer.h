#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/context.h"
#include "framework/philox.h"
#include "layers/stored_weight.h"

namespace skyline {

// The initial values of one weight, which can be drawn in pieces: value i is number i mod 4 of the
// four at counter i / 4 of a stream, times `deviation`.
struct InitialValues {
  Philox philox;
  std::uint64_t stream = 0;
  float deviation = 1;

  // Draws the values from `first` on, a multiple of 4.
  void draw(std::uint64_t first, std::span<float> values) const;
};

// Returns the initial values of a weight whose outputs each sum `fan_in` inputs. Takes one stream
// number, so the values depend only on the seed and the order of layers.
using Initializer = std::function<InitialValues(RandomStream& random, std::int64_t fan_in)>;

// Normal with standard deviation sqrt(1 / fan_in) (LeCun et al. 1998, "Efficient BackProp",
// section 4.6).
InitialValues lecun_normal(RandomStream& random, std::int64_t fan_in);

// Normal with standard deviation sqrt(2 / fan_in), for layers followed by a relu (He et al. 2015,
// "Delving deep into rectifiers", equation 10).
InitialValues he_normal(RandomStream& random, std::int64_t fan_in);

// Normal with this standard deviation, whatever the inputs.
Initializer normal_of(double deviation);

// Base of all layers: a name, parameters and buffers. A layer must be made under the scopes
// (LayerScope) under which it is called, so that the parameter "conv2_1.conv1.weight" belongs to
// the layer that tags its ops "conv2_1.conv1". Layers are copyable handles: copies share tensors.
// In files, a tensor's name is the path of the layers that own it, each by the name that its owner
// gives it.
class Layer {
 public:
  const std::string& name() const noexcept { return name_; }  // as given, without scopes
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  const std::vector<Buffer>& buffers() const noexcept { return buffers_; }
  // Everything that inference needs; names in files begin in this layer.
  const std::vector<StoredWeight>& weights() const noexcept { return weights_; }

 protected:
  explicit Layer(std::string_view name) : name_(name) {}

  // Adds "<scopes>.<name>.<what>", drawn by `initializer`. Draws nothing in a dry run. `channels`:
  // of the image that a row of the weight is multiplied with, see StoredWeight.
  void add_weight(Context& context, const TensorName& what, const TensorSpec& spec,
                  std::int64_t fan_in, const Initializer& initializer, std::int64_t channels = 1);
  // Files hold the weight that was added last transposed.
  void transpose_in_files() { weights_.back().transposed = true; }
  // Adds it with every element `value`.
  void add_parameter(Context& context, const TensorName& what, const TensorSpec& spec, float value);
  void add_buffer(Context& context, const TensorName& what, const TensorSpec& spec, float value);
  // Adds a number of batches, which only files hold.
  void add_batch_counter(const std::string& what) { weights_.push_back({.name = what}); }
  // Adds the parameters and buffers of `parts`, layers inside this one. In files they are below
  // part.name(), or below `stored`; if that is empty, the part's names are this layer's.
  template <typename... Layers>
  void own(const Layers&... parts) {
    (own_as(parts.name(), parts), ...);
  }
  void own_as(std::string_view stored, const Layer& part);

  // Returns an empty tensor if there is no such parameter.
  Tensor parameter(std::size_t index) const {
    return index < parameters_.size() ? parameters_[index].value : Tensor();
  }

 private:
  std::string full_name(const Context& context, std::string_view what) const;

  std::string name_;
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
  std::vector<StoredWeight> weights_;
};

// Returns the weights of a part that files know as `name`; empty: by the part's own names.
std::vector<StoredWeight> weights_below(std::string_view name, const Layer& part);

}  // namespace skyline
