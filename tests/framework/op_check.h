#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/context.h"
#include "tests/framework/host_tensor.h"

namespace skyline {

// One op with operands and a readable reference: everything that check_op needs.
//
//   check_op({.apply = [](Context& context, std::vector<Tensor> x) {
//               return relu(context, std::move(x[0]));
//             },
//             .reference = [](const std::vector<HostTensor>& x) { return reference::relu(x[0]); },
//             .inputs = {random_tensor({2, 3, 5, 7}, kSeed, 0, {.away_from_zero = 0.01})}});
//
// `apply` must move the tensors on, else the op cannot write in place. Each call gets a new context
// with Options::seed = `seed` and an unused random stream.
struct OpCheck {
  std::function<Tensor(Context&, std::vector<Tensor>)> apply;
  std::function<HostTensor(const std::vector<HostTensor>&)> reference;
  std::vector<HostTensor> inputs;  // f32 inputs are differentiated, i32 inputs are not

  // Largest error, relative to the largest magnitude of the reference tensor.
  double forward_tolerance = 1e-6;
  double gradient_tolerance = 1e-5;
  int derivatives_per_input = 200;  // most elements to take finite differences of
  double step = 1e-5;               // of the central differences
  std::uint64_t seed = 1;

  bool same_in_inference = true;  // inference mode gives the same output, bit for bit
  bool has_products = false;      // or convolutions, see Backend::divides_sums()
  std::size_t round_bytes = Context::Options().round_bytes;
};

// Asserts, by GoogleTest's expectations:
// - the output equals the reference's;
// - the gradients that backward() computes of loss = sum(weight * output), with random weights,
//   equal central finite differences of the reference in double precision;
// - writing in place, not writing in place, and operands that the program keeps holding give the
//   same bits, and held operands do not change;
// - every schedule of the backend gives the same bits, or the same within the tolerances where
//   the backend divides the sums of products;
// - any subset of the inputs may need gradients, and gets the same ones;
// - nothing outside outputs and workspace is written, fresh memory (NaN) is not read, and all
//   memory is freed.
void check_op(const OpCheck& check);

}  // namespace skyline
