#include "tests/cuda/kernel_pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_error.h"
#include "framework/philox.h"
#include "tests/cuda_emulation/emulation.h"

namespace skyline {
namespace {

using cuda_emulation::Emulated;
using cuda_emulation::ThreadOrder;

// Host memory, aligned like tensors.
class HostBytes {
 public:
  explicit HostBytes(std::size_t bytes)
      : bytes_(bytes), begin_(static_cast<std::byte*>(::operator new(bytes + 1, kAlignment))) {
    std::memset(begin_, 0xff, bytes_);  // NaN
  }
  HostBytes(HostBytes&& other) noexcept
      : bytes_(other.bytes_), begin_(std::exchange(other.begin_, nullptr)) {}
  ~HostBytes() { ::operator delete(begin_, kAlignment); }

  std::byte* begin() const { return begin_; }
  Bytes copy() const { return Bytes(begin_, begin_ + bytes_); }

 private:
  static constexpr std::align_val_t kAlignment{512};
  std::size_t bytes_;
  std::byte* begin_;
};

std::vector<Bytes> run_on_cpu(const KernelPair& pair) {
  const auto kernel = pair.cpu();
  std::vector<HostBytes> inputs, outputs;
  std::vector<const std::byte*> input_addresses;
  std::vector<std::byte*> output_addresses;
  for (const Bytes& input : pair.inputs) {
    inputs.emplace_back(input.size());
    std::copy(input.begin(), input.end(), inputs.back().begin());
    input_addresses.push_back(inputs.back().begin());
  }
  for (const TensorSpec& output : pair.outputs) {
    outputs.emplace_back(output.bytes());
    output_addresses.push_back(outputs.back().begin());
  }
  const HostBytes workspace(kernel->workspace_bytes());
  kernel->run({input_addresses, output_addresses, workspace.begin(), pair.run_value});
  std::vector<Bytes> results;
  for (const HostBytes& output : outputs) results.push_back(output.copy());
  return results;
}

class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) : bytes_(bytes) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&begin_), bytes), "cudaMalloc");
  }
  DeviceBytes(DeviceBytes&& other) noexcept
      : bytes_(other.bytes_), begin_(std::exchange(other.begin_, nullptr)) {}
  ~DeviceBytes() { cudaFree(begin_); }

  std::byte* begin() const { return begin_; }
  Bytes read(CudaCompute& compute) const {
    Bytes host(bytes_);
    if (bytes_ > 0) compute.read(host.data(), begin_, bytes_);
    return host;
  }

 private:
  std::size_t bytes_;
  std::byte* begin_ = nullptr;
};

// With `value_in_memory` only device memory holds the run value; zeros are passed as such.
std::vector<Bytes> run_on_cuda(const KernelPair& pair, ThreadOrder order,
                               const std::vector<InPlacePair>& in_place,
                               bool value_in_memory = false) {
  const Emulated emulated({.threads = order, .seed = 1});
  CudaCompute compute({});
  const auto kernel = pair.cuda(compute);
  std::vector<DeviceBytes> memory;
  std::vector<std::byte*> inputs, outputs;
  for (const Bytes& input : pair.inputs) {
    memory.emplace_back(input.size());
    inputs.push_back(memory.back().begin());
    if (!input.empty()) compute.write(inputs.back(), input.data(), input.size());
  }
  std::vector<bool> overwritten(inputs.size(), false);
  std::vector<std::size_t> places;  // of the outputs in `memory`
  for (std::size_t j = 0; j < pair.outputs.size(); ++j) {
    const auto found = std::find_if(in_place.begin(), in_place.end(), [j](const InPlacePair& own) {
      return own.output == static_cast<int>(j);
    });
    if (found == in_place.end()) {
      places.push_back(memory.size());
      memory.emplace_back(pair.outputs[j].bytes());
    } else {
      places.push_back(static_cast<std::size_t>(found->input));
      overwritten[places.back()] = true;
    }
    outputs.push_back(memory[places.back()].begin());
  }
  const DeviceBytes workspace(kernel->workspace_bytes());
  const std::vector<const std::byte*> addresses(inputs.begin(), inputs.end());
  const Bytes& value = pair.run_value.bytes();
  const DeviceBytes value_at(value.size());
  if (value_in_memory) {
    compute.write(value_at.begin(), value.data(), value.size());
    kernel->run(
        {addresses, outputs, workspace.begin(), RunValue(Bytes(value.size())), value_at.begin()});
  } else {
    kernel->run({addresses, outputs, workspace.begin(), pair.run_value});
  }
  std::vector<Bytes> results;
  for (const std::size_t place : places) results.push_back(memory[place].read(compute));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(overwritten[i] || memory[i].read(compute) == pair.inputs[i])
        << "input " << i << " was written";
  }
  return results;
}

template <typename T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void expect_close(const std::string& what, const Bytes& got, const Bytes& expected,
                  double tolerance) {
  const auto values = values_of<float>(got), wanted = values_of<float>(expected);
  double scale = 0;
  for (const float value : wanted) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(double{value}));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool same = values[i] == wanted[i] || (std::isnan(values[i]) && std::isnan(wanted[i]));
    ASSERT_TRUE(same || std::fabs(double{values[i]} - double{wanted[i]}) <= tolerance * scale)
        << what << " [" << i << "]: got " << values[i] << ", expected " << wanted[i] << ", largest "
        << scale;
  }
}

// Returns pairs that share no input and no output.
std::vector<InPlacePair> together(const std::vector<InPlacePair>& pairs) {
  std::vector<InPlacePair> chosen;
  for (const InPlacePair& pair : pairs) {
    const bool clashes = std::any_of(chosen.begin(), chosen.end(), [&](const InPlacePair& other) {
      return other.input == pair.input || other.output == pair.output;
    });
    if (!clashes) chosen.push_back(pair);
  }
  return chosen;
}

}  // namespace

std::vector<float> random_floats(std::int64_t count, std::uint64_t stream, float low, float high) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = low + (high - low) * uniform_float(Philox{17}(stream, i)[0]);
  }
  return values;
}

std::vector<std::int32_t> random_integers(std::int64_t count, std::uint64_t stream, int below) {
  std::vector<std::int32_t> values;
  for (const float value : random_floats(count, stream, 0, static_cast<float>(below))) {
    values.push_back(std::min(static_cast<std::int32_t>(value), below - 1));
  }
  return values;
}

Bytes random_operand(std::int64_t count, std::uint64_t stream, float low, float high) {
  return bytes_of(random_floats(count, stream, low, high));
}

std::vector<Bytes> run_on_emulation(const KernelPair& pair) {
  return run_on_cuda(pair, ThreadOrder::kForward, {});
}

void expect_same(const std::string& what, const KernelPair& pair) {
  SCOPED_TRACE(what);
  const std::vector<Bytes> expected = run_on_cpu(pair);
  const std::vector<Bytes> got = run_on_emulation(pair);
  for (std::size_t j = 0; j < expected.size(); ++j) {
    const std::string name = what + " output " + std::to_string(j);
    if (pair.outputs[j].dtype == DType::kFloat32) {
      expect_close(name, got[j], expected[j], pair.tolerance);
    } else {
      ASSERT_EQ(got[j] == expected[j], true) << name;
    }
  }
  for (const ThreadOrder order : {ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    EXPECT_TRUE(run_on_cuda(pair, order, {}) == got) << "depends on the order of threads";
  }
  if (pair.run_value.has_value()) {
    EXPECT_TRUE(run_on_cuda(pair, ThreadOrder::kForward, {}, true) == got)
        << "with the run value in device memory";
  }
  std::vector<std::vector<InPlacePair>> choices;
  for (const InPlacePair& one : pair.in_place) choices.push_back({one});
  if (const auto all = together(pair.in_place); all.size() > 1) choices.push_back(all);
  for (const auto& choice : choices) {
    EXPECT_TRUE(run_on_cuda(pair, ThreadOrder::kShuffled, choice) == got)
        << "in place over input " << choice.front().input;
  }
}

}  // namespace skyline
