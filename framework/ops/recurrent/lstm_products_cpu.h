#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/ops/recurrent/lstm_kernels.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/row_products_cpu.h"

namespace skyline {

// y [rows, out] from x [rows, in] and one weight, for many numbers of rows: a product or, with
// `add`, what is added to y. The weight is packed once into the library's preferred layout, and
// every product reads that. Products run in row_pieces(). Without AVX-512, the library has no such
// layout: the weight is packed into panels of our own (PanelProducts), unless it is read `once`.
class PackedProduct {
 public:
  struct Options {
    std::int64_t in = 1;
    std::int64_t out = 1;
    bool transposed = false;  // the weight is [out, in] in memory, else [in, out]
    bool add = false;
    // Rows of the only product that reads a packed weight; 0: several do. Few rows are not worth
    // transposing it, nor a large weight.
    std::int64_t once_rows = 0;
    // In a wide op each lane computes one of so many parts of the rows. No bit depends on it.
    std::size_t parts = 1;
  };
  struct Operands {
    const float* x = nullptr;
    const float* weight = nullptr;  // from pack()
    float* y = nullptr;
  };

  explicit PackedProduct(const Options& options);

  // Call it for each number of rows that run() will be given, before asking for the sizes.
  void plan(std::int64_t rows);
  std::size_t packed_bytes() const;
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  // Packs a weight into packed_bytes(). Returns its address there, or `weight` if the library
  // prefers how it is stored. `scratch`, here and in run(), has scratch_bytes().
  const float* pack(const float* weight, std::byte* packed, std::byte* scratch);
  void run(std::int64_t rows, const Operands& operands, std::byte* scratch);

  // True if run() can be asked for some of the rows, on this thread.
  bool shares_rows() const { return in_panels_; }
  void run(std::int64_t rows, const Operands& operands, const RowTurns& turns) const;

  // Returns oneDNN's names of the implementations of all planned products.
  std::vector<std::string> implementations() const;

 private:
  dnnl::matmul::primitive_desc describe(std::int64_t rows, const dnnl::memory::desc& weight) const;
  void plan_piece(std::int64_t rows);
  void run_panels(std::int64_t rows, const Operands& operands) const;

  Options options_;
  bool in_panels_;
  dnnl::memory::desc plain_, packed_;
  DnnlKernel packing_;
  std::map<std::int64_t, std::unique_ptr<DnnlKernel>> by_rows_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace skyline
