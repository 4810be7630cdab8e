#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/context.h"
#include "layers/initializers.h"

namespace skyline {

// What every layer has: a name, parameters and buffers. A layer is made under the scopes
// (LayerScope) under which it will be called, so that "conv2_1.conv1.weight" is the parameter of
// the layer whose ops are tagged "conv2_1.conv1". Layers are copyable handles: copies share their
// tensors.
class Layer {
 public:
  const std::string& name() const noexcept { return name_; }  // as given, without the scopes
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  const std::vector<Buffer>& buffers() const noexcept { return buffers_; }

 protected:
  explicit Layer(std::string_view name) : name_(name) {}

  // Adds "<scopes>.<name>.<what>", drawn by `initializer`. In a dry run nothing is drawn.
  void add_weight(Context& context, std::string_view what, const TensorSpec& spec,
                  std::int64_t fan_in, Initializer initializer);
  // The same with every element `value`.
  void add_parameter(Context& context, std::string_view what, const TensorSpec& spec, float value);
  void add_buffer(Context& context, std::string_view what, const TensorSpec& spec, float value);
  // Takes the parameters and buffers of a layer that is part of this one into its lists.
  void own(const Layer& part);

  // An empty tensor where there is no such parameter.
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
