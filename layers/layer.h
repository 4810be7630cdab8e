#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/context.h"
#include "layers/initializers.h"

namespace skyline {

// Base of all layers: a name, parameters and buffers. A layer must be made under the scopes
// (LayerScope) under which it is called, so that the parameter "conv2_1.conv1.weight" belongs to
// the layer that tags its ops "conv2_1.conv1". Layers are copyable handles: copies share tensors.
class Layer {
 public:
  const std::string& name() const noexcept { return name_; }  // as given, without scopes
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  const std::vector<Buffer>& buffers() const noexcept { return buffers_; }

 protected:
  explicit Layer(std::string_view name) : name_(name) {}

  // Adds "<scopes>.<name>.<what>", drawn by `initializer`. Draws nothing in a dry run.
  void add_weight(Context& context, std::string_view what, const TensorSpec& spec,
                  std::int64_t fan_in, Initializer initializer);
  // Adds it with every element `value`.
  void add_parameter(Context& context, std::string_view what, const TensorSpec& spec, float value);
  void add_buffer(Context& context, std::string_view what, const TensorSpec& spec, float value);
  // Adds the parameters and buffers of `part`, a layer inside this one.
  void own(const Layer& part);

  // Returns an empty tensor if there is no such parameter.
  Tensor parameter(std::size_t index) const {
    return index < parameters_.size() ? parameters_[index].value : Tensor();
  }

 private:
  std::string full_name(const Context& context, std::string_view what) const;

  std::string name_;
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
};

}  // namespace skyline
