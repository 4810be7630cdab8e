#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace skyline {

class CudaCompute;

// c [rows, columns] = op(a) op(b), sums over `inner` products. Matrices lie row-major and dense.
struct ProductProblem {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t inner = 1;
  bool transposed_a = false;  // a lies as [inner, rows], else as [rows, inner]
  bool transposed_b = false;  // b lies as [columns, inner], else as [inner, columns]
  bool add = false;           // to what c holds
  bool bias = false;          // bias [columns] is added to each row; not together with `add`

  auto operator<=>(const ProductProblem&) const = default;
};

struct ProductOperands {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  std::byte* workspace = nullptr;
};

// Room for the partial sums of a product whose result is too small to keep a card busy, so that
// its inner sums are shared out: eight times the result, and nothing for results of 8 MiB and more.
// A formula, so that a dry run knows it without a device.
std::size_t product_workspace_bytes(const ProductProblem& problem);

// A matrix product in fp32 on the device.
class Product {
 public:
  virtual ~Product() = default;
  // Enqueues on the stream of the compute object that this was made for. The workspace has
  // product_workspace_bytes() bytes.
  virtual void run(const ProductOperands& operands) = 0;
};

// Needs no device; the first run() loads the library.
std::unique_ptr<Product> make_product(CudaCompute& compute, const ProductProblem& problem);

}  // namespace skyline
