#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace skyline {

class CudaCompute;

// c [rows, columns] = op(a) op(b), summing over `inner` products. Matrices are row-major and dense.
struct ProductProblem {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t inner = 1;
  bool transposed_a = false;  // a is [inner, rows] in memory, else [rows, inner]
  bool transposed_b = false;  // b is [columns, inner] in memory, else [inner, columns]
  bool add = false;           // adds to c instead of overwriting it
  bool bias = false;          // adds bias [columns] to each row; not together with `add`
  bool relu = false;          // returns max(·, 0) of that; NaN may become 0; not with `add`
  std::size_t most_workspace_bytes = std::numeric_limits<std::size_t>::max();

  auto operator<=>(const ProductProblem&) const = default;
};

struct ProductOperands {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  std::byte* workspace = nullptr;
};

// Returns room for the partial sums of a product whose result is too small to keep a card busy, so
// that blocks share the inner sums: up to eight times the result; 0 for results above 16 MiB
// (framework/README.md says why), for short inner sums and where it would exceed
// problem.most_workspace_bytes. A formula, so that a dry run needs no device.
std::size_t product_workspace_bytes(const ProductProblem& problem);

// A matrix product in fp32 on the device.
class Product {
 public:
  virtual ~Product() = default;
  // Enqueues on the stream of the compute object that this was made for. The workspace has
  // product_workspace_bytes() bytes.
  virtual void run(const ProductOperands& operands) = 0;
};

// Needs no device: the first run() loads the library and looks up what later runs use, too.
std::unique_ptr<Product> make_product(CudaCompute& compute, const ProductProblem& problem);

// The products of a loop whose problems seldom change: consecutive equal ones share an object, so
// that nothing is looked up between them.
class ProductLoop {
 public:
  explicit ProductLoop(CudaCompute& compute) : compute_(compute) {}
  Product& of(const ProductProblem& problem) {
    if (!product_ || problem != problem_) product_ = make_product(compute_, problem_ = problem);
    return *product_;
  }

 private:
  CudaCompute& compute_;
  ProductProblem problem_;
  std::unique_ptr<Product> product_;
};

}  // namespace skyline
