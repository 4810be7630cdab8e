#include "tests/framework/op_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "memory/adaptors/checking_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "tests/framework/backend.h"
#include "tests/framework/op_check_ops.h"

namespace skyline {
namespace {

struct Variant {
  std::vector<bool> needed;  // the inputs that need gradients
  Mode mode = Mode::kTraining;
  bool in_place = true;
  bool hold_inputs = false;          // the program keeps its own references to the operands
  std::optional<int> schedule = {};  // of the backend; none: the usual one
};

// Values in the framework's memory order; a gradient that was not needed is empty.
struct Outcome {
  Shape shape;
  std::vector<float> output;
  std::vector<std::vector<float>> gradients;

  bool operator==(const Outcome& other) const {  // bit for bit
    return shape == other.shape && same(output, other.output) &&
           std::equal(gradients.begin(), gradients.end(), other.gradients.begin(),
                      other.gradients.end(), same);
  }
  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  }
};

std::vector<std::byte> stored_bytes(const HostTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.elements()) * sizeof(float));
  std::byte* next = bytes.data();
  for (const double value : to_memory_order(tensor)) {
    const auto real = static_cast<float>(value);
    const auto whole = static_cast<std::int32_t>(value);
    std::memcpy(next, tensor.dtype == DType::kInt32 ? static_cast<const void*>(&whole) : &real,
                sizeof(float));
    next += sizeof(float);
  }
  return bytes;
}

// The operands of one run, and the parameters of those that need gradients.
struct Operands {
  std::vector<Parameter> parameters;
  std::vector<Tensor> tensors;

  Operands(Context& context, const OpCheck& check, const std::vector<bool>& needed)
      : parameters(check.inputs.size()) {
    for (std::size_t i = 0; i < check.inputs.size(); ++i) {
      const TensorSpec spec{check.inputs[i].shape, check.inputs[i].dtype};
      const std::vector<std::byte> bytes = stored_bytes(check.inputs[i]);
      if (!needed[i]) {
        tensors.push_back(context.upload(spec, bytes.data()));
        continue;
      }
      parameters[i] = make_parameter(context, spec, "input" + std::to_string(i), bytes.data());
      tensors.push_back(copy(context, parameters[i].value));
    }
  }
};

Outcome run_in(Context& context, const OpCheck& check, const Variant& variant) {
  Operands operands(context, check, variant.needed);
  const std::vector<Tensor> held = variant.hold_inputs ? operands.tensors : std::vector<Tensor>{};
  Tensor output = check.apply(context, std::move(operands.tensors));
  Outcome outcome{.shape = output.shape(), .output = backend().read(output)};
  outcome.gradients.resize(check.inputs.size());
  if (context.training() && output.requires_grad()) {
    backward(context, weighted_total(context, std::move(output), check.seed));
  }
  for (std::size_t i = 0; i < check.inputs.size(); ++i) {
    const Tensor& gradient = operands.parameters[i].gradient;
    if (gradient) outcome.gradients[i] = backend().read(gradient);
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const std::vector<std::byte> before = stored_bytes(check.inputs[i]);
    std::vector<std::byte> after(before.size());
    backend().compute()->read(after.data(), held[i].address(), after.size());
    EXPECT_EQ(after, before) << "held operand " << i << " was written over";
  }
  return outcome;
}

Outcome run(const OpCheck& check, const Variant& variant) {
  if (variant.schedule) backend().set_schedule(*variant.schedule);
  const std::unique_ptr<Device> device = backend().make_device();
  BestFitPool pool(*device);
  GuardAdaptor guard(pool, *device);
  Outcome outcome;
  {
    Context context(guard, {.compute = backend().compute(),
                            .mode = variant.mode,
                            .in_place = variant.in_place,
                            .round_bytes = check.round_bytes,
                            .seed = check.seed});
    try {
      outcome = run_in(context, check, variant);
      guard.check();
    } catch (const MemoryCorruption& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_NO_THROW(guard.check());
  EXPECT_EQ(guard.statistics().requested_bytes, 0u) << "memory was not given back";
  backend().set_usual_schedule();
  return outcome;
}

// Compares with a tolerance relative to the largest expected magnitude; reports the worst element.
void expect_near(const std::string& what, const std::vector<double>& got,
                 const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double scale = 0, worst = -1;
  std::size_t worst_index = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    scale = std::max(scale, std::fabs(expected[i]));
    const double error = std::fabs(got[i] - expected[i]);
    if (error > worst || std::isnan(error)) {
      worst = error;
      worst_index = i;
    }
    if (std::isnan(error)) break;
  }
  EXPECT_LE(worst, tolerance * scale) << what << ", element " << worst_index << ": got "
                                      << got[worst_index] << ", expected " << expected[worst_index];
}

double weighted_reference(const OpCheck& check, const std::vector<HostTensor>& inputs) {
  double total = 0;
  std::int64_t i = 0;
  for (const double value : to_memory_order(check.reference(inputs))) {
    total += output_weight(check.seed, i++) * value;
  }
  return total;
}

// Compares the gradient of input `index` with central differences at evenly spread elements.
void expect_gradient(const OpCheck& check, std::size_t index, const std::vector<float>& stored) {
  const HostTensor gradient = from_memory_order(check.inputs[index].shape, stored);
  const std::int64_t elements = gradient.elements();
  const std::int64_t stride =
      std::max<std::int64_t>(1, elements / std::max(1, check.derivatives_per_input));
  std::vector<HostTensor> inputs = check.inputs;
  std::vector<double> got, expected;
  for (std::int64_t i = 0; i < elements; i += stride) {
    const double x = check.inputs[index][i];
    inputs[index][i] = x + check.step;
    const double above = weighted_reference(check, inputs);
    inputs[index][i] = x - check.step;
    const double below = weighted_reference(check, inputs);
    inputs[index][i] = x;
    got.push_back(gradient[i]);
    expected.push_back((above - below) / (2 * check.step));
  }
  expect_near("gradient of input " + std::to_string(index) + " at every " + std::to_string(stride) +
                  "th element",
              got, expected, check.gradient_tolerance);
}

// Each differentiable input alone, and all of them but one (none, if there is only one).
std::vector<std::vector<bool>> subsets(const std::vector<bool>& differentiable) {
  std::vector<std::vector<bool>> result;
  for (std::size_t i = 0; i < differentiable.size(); ++i) {
    if (!differentiable[i]) continue;
    std::vector<bool> alone(differentiable.size(), false);
    alone[i] = true;
    result.push_back(alone);
    std::vector<bool> all_but = differentiable;
    all_but[i] = false;
    result.push_back(all_but);
  }
  return result;
}

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

void expect_subset(const OpCheck& check, const Outcome& whole, const std::vector<bool>& needed) {
  const Outcome part = run(check, {.needed = needed});
  EXPECT_TRUE(Outcome::same(part.output, whole.output)) << "the output depends on who needs it";
  for (std::size_t i = 0; i < needed.size(); ++i) {
    EXPECT_EQ(part.gradients[i].empty(), !needed[i]) << "gradient of input " << i;
    if (!needed[i]) continue;
    expect_near("gradient of input " + std::to_string(i) + " when only some are needed",
                doubles(part.gradients[i]), doubles(whole.gradients[i]), check.gradient_tolerance);
  }
}

void expect_schedule(const OpCheck& check, const Outcome& whole, const std::vector<bool>& needed,
                     int schedule) {
  SCOPED_TRACE("schedule " + std::to_string(schedule));
  const Outcome other = run(check, {.needed = needed, .schedule = schedule});
  if (!check.has_products || !backend().divides_sums()) {
    EXPECT_EQ(other, whole);
    return;
  }
  expect_near("output", doubles(other.output), doubles(whole.output), check.forward_tolerance);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    expect_near("gradient of input " + std::to_string(i), doubles(other.gradients[i]),
                doubles(whole.gradients[i]), check.gradient_tolerance);
  }
}

}  // namespace

void check_op(const OpCheck& check) {
  SCOPED_TRACE("seed " + std::to_string(check.seed));
  std::vector<bool> all;
  for (const HostTensor& input : check.inputs) all.push_back(input.dtype == DType::kFloat32);

  const Outcome whole = run(check, {.needed = all});
  const HostTensor expected = check.reference(check.inputs);
  ASSERT_FALSE(whole.output.empty());
  ASSERT_EQ(whole.shape, expected.shape) << whole.shape.str() << " " << expected.shape.str();
  expect_near("output (in memory order)", doubles(whole.output), to_memory_order(expected),
              check.forward_tolerance);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    ASSERT_FALSE(whole.gradients[i].empty()) << "no gradient of input " << i;
    expect_gradient(check, i, whole.gradients[i]);
  }

  EXPECT_EQ(run(check, {.needed = all, .in_place = false}), whole) << "not in place";
  EXPECT_EQ(run(check, {.needed = all, .hold_inputs = true}), whole) << "operands held";
  for (const std::vector<bool>& needed : subsets(all)) expect_subset(check, whole, needed);
  if (check.same_in_inference) {
    const Outcome inference =
        run(check, {.needed = std::vector(all.size(), false), .mode = Mode::kInference});
    EXPECT_TRUE(Outcome::same(inference.output, whole.output)) << "inference mode";
  }
  for (int i = 0; i < backend().schedules(); ++i) expect_schedule(check, whole, all, i);
}

}  // namespace skyline
