#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "framework/cuda/launch.h"
#include "framework/kernel.h"

// For CUDA sources only. Memory is fastest when neighbouring threads move neighbouring 16 bytes.
// All tensors start at multiples of kAlignmentBytes, so extents alone decide where that is
// possible.

namespace skyline {

// Neighbours in memory that one instruction loads or stores.
template <typename T, int kWidth>
struct alignas(sizeof(T) * kWidth) Vector {
  T at[kWidth];
};

template <int kWidth, typename T>
__device__ Vector<T, kWidth> load(const T* from) {
  return *reinterpret_cast<const Vector<T, kWidth>*>(from);
}

template <typename T, int kWidth>
__device__ void store(T* to, const Vector<T, kWidth>& values) {
  *reinterpret_cast<Vector<T, kWidth>*>(to) = values;
}

template <int kWidth>
__device__ Vector<float, kWidth> vector_of(float value) {
  Vector<float, kWidth> result;
  for (int k = 0; k < kWidth; ++k) result.at[k] = value;
  return result;
}

inline constexpr int kFloats = 4;  // of 16 bytes

template <int kWidth>
using Width = std::integral_constant<int, kWidth>;

// Calls body(Width<4>) if all extents of rows are multiples of 4 floats, else body(Width<1>).
template <typename Body>
void with_width(bool multiples_of_four, const Body& body) {
  if (multiples_of_four) {
    body(Width<kFloats>{});
  } else {
    body(Width<1>{});
  }
}

// Runs the vector of this thread, and one of the last few elements.
template <typename Function>
__device__ void run_vector(std::int64_t thread, std::int64_t count, const Function& function) {
  const std::int64_t vectors = count / kFloats;
  if (thread < vectors) function.template run<kFloats>(thread * kFloats);
  const std::int64_t rest = vectors * kFloats + thread;
  if (rest < count) function.template run<1>(rest);
}

template <typename Function>
__global__ void for_each_vector_kernel(std::int64_t count, Function function) {
  run_vector(thread_of_grid(), count, function);
}

// Calls function.run<kWidth>(i) for elements i … i + kWidth - 1, with width 4 and, for the last
// few, 1, until all `count` elements are done. `function` is copied to the device.
template <typename Function>
void for_each_vector(CudaCompute& compute, std::int64_t count, Function function) {
  if (count == 0) return;
  launch(compute, blocks_for((count + kFloats - 1) / kFloats), kThreads,
         for_each_vector_kernel<Function>, count, function);
}

// One launch for several tensors: functions[k] runs over counts[k] elements, in the blocks up to
// end[k].
template <typename Function>
struct VectorTable {
  // Kernels take 32,764 bytes of arguments, but those of small networks should not copy so many.
  static constexpr unsigned kMost =
      9216 / (sizeof(Function) + sizeof(std::int64_t) + sizeof(unsigned));

  Function functions[kMost];
  std::int64_t counts[kMost];
  unsigned end[kMost];
  unsigned size;

  void add(std::int64_t count, const Function& function) {
    const unsigned before = size == 0 ? 0 : end[size - 1];
    functions[size] = function;
    counts[size] = count;
    end[size++] = before + blocks_for((count + kFloats - 1) / kFloats).x;
  }
};

template <typename Function>
__global__ void for_each_vector_of_kernel(VectorTable<Function> table) {
  unsigned low = 0, high = table.size - 1;  // the first whose blocks end behind this one
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (blockIdx.x < table.end[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const unsigned block = blockIdx.x - (low == 0 ? 0 : table.end[low - 1]);
  run_vector(static_cast<std::int64_t>(block) * blockDim.x + threadIdx.x, table.counts[low],
             table.functions[low]);
}

// As for_each_vector(counts[k], function_of(k)) for every k, in few launches.
template <typename FunctionOf>
void for_each_vector_of(CudaCompute& compute, std::span<const std::int64_t> counts,
                        FunctionOf function_of) {
  using Table = VectorTable<decltype(function_of(std::size_t{}))>;
  if (counts.size() == 1) return for_each_vector(compute, counts[0], function_of(0));
  for (std::size_t k = 0; k < counts.size();) {
    Table table{};
    for (; k < counts.size() && table.size < Table::kMost; ++k) {
      if (counts[k] > 0) table.add(counts[k], function_of(k));
    }
    if (table.size == 0) continue;
    launch(compute, table.end[table.size - 1], kThreads,
           for_each_vector_of_kernel<decltype(function_of(std::size_t{}))>, table);
  }
}

template <int kInputs, typename Function>
struct ElementwiseBody {
  const float* first;
  const float* second;
  float* output;
  Function function;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    auto values = load<kWidth>(first + i);
    if constexpr (kInputs == 1) {
      for (float& value : values.at) value = function(value);
    } else {
      const auto others = load<kWidth>(second + i);
      for (int k = 0; k < kWidth; ++k) values.at[k] = function(values.at[k], others.at[k]);
    }
    store(output + i, values);
  }
};

// output[i] = function(input0[i]) or function(input0[i], input1[i]); the output may be an input.
template <typename Function>
std::unique_ptr<Kernel> make_elementwise_cuda(CudaCompute& compute, std::int64_t elements,
                                              Function function) {
  constexpr int kInputs = std::is_invocable_v<Function, float> ? 1 : 2;
  return make_kernel([=, &compute](const KernelArguments& arguments) {
    for_each_vector(
        compute, elements,
        ElementwiseBody<kInputs, Function>{arguments.input<float>(0),
                                           kInputs == 2 ? arguments.input<float>(1) : nullptr,
                                           arguments.output<float>(0), function});
  });
}

}  // namespace skyline
