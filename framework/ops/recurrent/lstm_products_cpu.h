#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/row_products_cpu.h"

namespace skyline {

// y [rows, out] from x [rows, in] and one weight, for many numbers of rows. The weight is packed
// once into the library's preferred layout, and every product reads that. Products run in
// row_pieces().
class PackedProduct {
 public:
  enum class Result { kOverwrite, kAdd, kAddBias };
  struct Options {
    std::int64_t in = 1;
    std::int64_t out = 1;
    bool transposed = false;             // the weight is [out, in] in memory, else [in, out]
    Result result = Result::kOverwrite;  // y = x w, y += x w, or y = x w + bias
    // In a wide op each lane computes one of so many parts of the rows. No bit depends on it.
    std::size_t parts = 1;
  };
  struct Operands {
    const float* x = nullptr;
    const float* bias = nullptr;
    float* y = nullptr;
  };
  struct Workspace {
    std::byte* packed = nullptr;   // packed_bytes()
    std::byte* scratch = nullptr;  // scratch_bytes()
  };

  explicit PackedProduct(const Options& options);

  // Call it for each number of rows that run() will be given, before asking for the sizes.
  void plan(std::int64_t rows);
  std::size_t packed_bytes() const { return packed_.get_size(); }
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  void pack(const float* weight, const Workspace& workspace);
  void run(std::int64_t rows, const Operands& operands, const Workspace& workspace);

  // Returns oneDNN's names of the implementations of all planned products.
  std::vector<std::string> implementations() const;

 private:
  dnnl::matmul::primitive_desc describe(std::int64_t rows, const dnnl::memory::desc& weight) const;
  void plan_piece(std::int64_t rows);

  Options options_;
  dnnl::memory::desc packed_;
  DnnlKernel packing_;
  std::map<std::int64_t, std::unique_ptr<DnnlKernel>> by_rows_;
  std::size_t scratch_bytes_ = 0;
};

// grad [out, in] = grad_y^T x over `rows` rows of grad_y [rows, out] and x [rows, in]. For the
// reason given in row_pieces.h, few numbers of rows should occur: round up with padded() and fill
// with zeros.
class WeightProduct {
 public:
  static std::int64_t padded(std::int64_t rows) {
    return (rows + kRowGrain - 1) / kRowGrain * kRowGrain;
  }

  WeightProduct(std::int64_t rows, std::int64_t out, std::int64_t in);
  std::size_t scratch_bytes() const { return kernel_.workspace_bytes(); }
  void run(const float* grad_y, const float* x, float* grad, std::byte* scratch);
  std::vector<std::string> implementations() const { return kernel_.implementations(); }

 private:
  DnnlKernel kernel_;
};

}  // namespace skyline
