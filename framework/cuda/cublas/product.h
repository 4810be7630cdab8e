#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "framework/kernel.h"

namespace skyline {

struct CudaOptions;

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
  std::size_t spare_bytes = 0;  // of a step, for a result above 16 MiB: see use_spare_bytes()

  auto operator<=>(const ProductProblem&) const = default;
  std::string str() const;  // "4 x 6 and 6 x 5"
};

struct ProductOperands {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  std::byte* workspace = nullptr;
};

// Returns room for the partial sums of a product whose result is too small to keep a card busy, so
// that blocks share the inner sums: up to eight times the result; 0 for short inner sums. For a
// result above 16 MiB, returns the step's spare bytes. Never more than
// problem.most_workspace_bytes. A formula, so that a dry run needs no device.
std::size_t product_workspace_bytes(const ProductProblem& problem);

// Gives a product whose result is above 16 MiB the workspace that options.engines choose for it:
// the 32 MiB that NVIDIA recommends where the peak of its step has room for them. A first time
// notes the choice there. Gives nothing where that is unknown: nobody called choose_engines() for a
// step, or engines are measured. Returns nothing for other products and without options.engines.
std::optional<EngineUse> use_spare_bytes(ProductProblem& problem, const CudaOptions& options);

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
