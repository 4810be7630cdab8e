#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "framework/op.h"

namespace skyline {

// Make the kernel of an elementwise op for `elements` elements, one factory a backend.
struct ElementwiseFactories {
  std::unique_ptr<Kernel> (*cpu)(std::int64_t elements) = nullptr;
  std::unique_ptr<Kernel> (*cuda)(CudaCompute& compute, std::int64_t elements) = nullptr;

  std::unique_ptr<Kernel> make(Compute& compute, std::int64_t elements) const {
    return compute.cuda() ? cuda(*compute.cuda(), elements) : cpu(elements);
  }
};

// Base of ops whose operands and only output have one f32 spec of any shape. Output element i
// depends only on the operands' elements i, so the output may be written over any operand.
class ElementwiseOp : public Op {
 public:
  // Throws ShapeError on a wrong number of operands, a wrong dtype, or specs that differ.
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override;
  // Over every operand, the first preferred.
  std::vector<InPlacePair> in_place() const override;

 protected:
  ElementwiseOp(int operands, Category category) : operands_(operands), category_(category) {}

 private:
  int operands_;
  Category category_;
};

}  // namespace skyline
