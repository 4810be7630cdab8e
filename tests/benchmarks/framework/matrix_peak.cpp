#include "tests/benchmarks/framework/matrix_peak.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "framework/ops/support/dnnl_kernel.h"

namespace skyline {
namespace {

constexpr int kRuns = 10;

template <typename Call>
double best_seconds(Call call) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    call();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double product_rate() {
  constexpr dnnl::memory::dim kExtent = 2048;
  constexpr double kFlop = 2.0 * kExtent * kExtent * kExtent;
  std::vector<float> a(kExtent * kExtent, 0.5f), b(a), c(a);
  const double sgemm = best_seconds([&] {
    dnnl::sgemm('N', 'N', kExtent, kExtent, kExtent, 1, a.data(), kExtent, b.data(), kExtent, 0,
                c.data(), kExtent);
  });
  const dnnl::memory::desc square = dnnl_layout({kExtent, kExtent});
  const dnnl::matmul matmul({{square, square, square}, dnnl_engine()});
  dnnl::stream stream(dnnl_engine());
  const std::unordered_map<int, dnnl::memory> arguments = {
      {DNNL_ARG_SRC, {square, dnnl_engine(), a.data()}},
      {DNNL_ARG_WEIGHTS, {square, dnnl_engine(), b.data()}},
      {DNNL_ARG_DST, {square, dnnl_engine(), c.data()}}};
  return kFlop / std::min(sgemm, best_seconds([&] { matmul.execute(stream, arguments); }));
}

double multiply_add_rate() {
  // Enough independent sums to fill two units of latency 4, in the widest vectors.
  constexpr int kSums = 16, kRounds = 200'000;
  constexpr int kFloats = 16;
  typedef float Vector __attribute__((vector_size(kFloats * sizeof(float))));
  float kept = 0;
  const double seconds = best_seconds([&] {
#pragma omp parallel reduction(+ : kept)
    {
      Vector sums[kSums] = {};
      Vector factor = Vector{} + 0.999f, term = Vector{} + 1e-3f;
      asm volatile("" : "+m"(factor), "+m"(term));  // hidden from the compiler
      for (int round = 0; round < kRounds; ++round) {
        for (Vector& sum : sums) sum = sum * factor + term;
      }
      for (const Vector& sum : sums) kept += sum[0];
    }
  });
  volatile float used = kept;
  static_cast<void>(used);
  return 2.0 * kFloats * kSums * kRounds * omp_get_max_threads() / seconds;
}

}  // namespace

void MatrixPeak::improve(const MatrixPeak& other) {
  product = std::max(product, other.product);
  multiply_adds = std::max(multiply_adds, other.multiply_adds);
}

MatrixPeak measure_matrix_peak() { return {product_rate(), multiply_add_rate()}; }

std::string_view instructions() {
  const auto used = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [used](dnnl::cpu_isa known) {
    const auto wanted = static_cast<unsigned>(known);
    return (used & wanted) == wanted;
  };
  if (has(dnnl::cpu_isa::avx512_core)) return "AVX-512";
  return has(dnnl::cpu_isa::avx2) ? "AVX2" : "SSE";
}

}  // namespace skyline
