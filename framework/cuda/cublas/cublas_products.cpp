#include "framework/cuda/cublas/cublas_products.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_libraries.h"

namespace skyline {
namespace {

void* load_cublas() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(fmt::format("[--device cuda] {}", dlerror()));
  return library;
}

template <typename Function>
void find_cublas(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return;
  throw std::runtime_error(fmt::format("[--device cuda] cuBLAS has no {}: too old", name));
}

// Without a bound, packed batches that all differ in rows would add some products a step forever.
constexpr std::size_t kMostPrepared = 4096;

// How many algorithms are asked for, so that there is another where one fails.
constexpr int kMostAlgorithms = 8;

template <typename Descriptor>
using Owned = std::unique_ptr<Descriptor, cublasStatus_t (*)(Descriptor*)>;

std::uint32_t alignment_of(const ProductOperands& operands) {
  std::uint32_t alignment = 16;  // the widest load of a thread
  for (const float* address :
       {operands.a, operands.b, operands.bias, static_cast<const float*>(operands.c)}) {
    while (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) alignment /= 2;
  }
  return alignment;
}

cublasLtEpilogue_t epilogue_of(const ProductProblem& problem) {
  if (problem.bias) return problem.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return problem.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

CublasLibrary::CublasLibrary() : library_(load_cublas()) {
  find_cublas(library_, matmul, "cublasLtMatmul");
  find_cublas(library_, matmul_algo_get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find_cublas(library_, matmul_desc_create, "cublasLtMatmulDescCreate");
  find_cublas(library_, matmul_desc_destroy, "cublasLtMatmulDescDestroy");
  find_cublas(library_, matmul_desc_set_attribute, "cublasLtMatmulDescSetAttribute");
  find_cublas(library_, matmul_preference_create, "cublasLtMatmulPreferenceCreate");
  find_cublas(library_, matmul_preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find_cublas(library_, matmul_preference_set_attribute, "cublasLtMatmulPreferenceSetAttribute");
  find_cublas(library_, matrix_layout_create, "cublasLtMatrixLayoutCreate");
  find_cublas(library_, matrix_layout_destroy, "cublasLtMatrixLayoutDestroy");
  find_cublas(library_, get_status_name_, "cublasLtGetStatusName");
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  find_cublas(library_, create, "cublasLtCreate");
  find_cublas(library_, destroy, "cublasLtDestroy");
  cublasLtHandle_t handle = nullptr;
  check(create(&handle), "cublasLtCreate");
  handle_ = {handle, Destroy{destroy}};
}

void CublasLibrary::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(fmt::format("[{}] {}", call, get_status_name_(status)));
}

// One problem's descriptors and algorithm. cuBLAS is column-major, so it computes the transposes,
// c^T [columns, rows] = op(b)^T op(a)^T: their column-major layout is the row-major one of c, b and
// a.
class PreparedProduct {
 public:
  PreparedProduct(const CublasLibrary& library, const ProductProblem& problem,
                  const CudaOptions& options)
      : library_(library),
        problem_(problem),
        operation_(operation(options)),
        a_(layout(problem.columns, problem.inner, problem.transposed_b)),
        b_(layout(problem.inner, problem.rows, problem.transposed_a)),
        c_(layout(problem.columns, problem.rows, false)) {}

  void choose(const CudaOptions& options, std::uint32_t alignment_bytes);
  void run(const ProductOperands& operands, cudaStream_t stream);

 private:
  cublasStatus_t run(const cublasLtMatmulAlgo_t& algorithm, const ProductOperands& operands,
                     cudaStream_t stream) const;
  Owned<cublasLtMatmulDescOpaque_t> operation(const CudaOptions& options);
  Owned<cublasLtMatrixLayoutOpaque_t> layout(std::int64_t rows, std::int64_t columns,
                                             bool transposed) const;
  std::string call(const char* name) const { return fmt::format("{} of {}", name, problem_.str()); }
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t name, const Value& value) {
    library_.check(library_.matmul_desc_set_attribute(operation_.get(), name, &value, sizeof value),
                   "cublasLtMatmulDescSetAttribute");
  }
  template <typename Value>
  void prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name,
              const Value& value) const {
    library_.check(library_.matmul_preference_set_attribute(preference, name, &value, sizeof value),
                   "cublasLtMatmulPreferenceSetAttribute");
  }

  const CublasLibrary& library_;
  ProductProblem problem_;
  Owned<cublasLtMatmulDescOpaque_t> operation_;
  Owned<cublasLtMatrixLayoutOpaque_t> a_, b_, c_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;  // by expected speed; the first is in use
};

Owned<cublasLtMatmulDescOpaque_t> PreparedProduct::operation(const CudaOptions& options) {
  cublasLtMatmulDesc_t descriptor = nullptr;
  library_.check(library_.matmul_desc_create(
                     &descriptor, options.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                     CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
  return {descriptor, library_.matmul_desc_destroy};
}

Owned<cublasLtMatrixLayoutOpaque_t> PreparedProduct::layout(std::int64_t rows, std::int64_t columns,
                                                            bool transposed) const {
  if (transposed) std::swap(rows, columns);
  cublasLtMatrixLayout_t layout = nullptr;
  library_.check(
      library_.matrix_layout_create(&layout, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                    static_cast<std::uint64_t>(columns), rows),
      "cublasLtMatrixLayoutCreate");
  return {layout, library_.matrix_layout_destroy};
}

void PreparedProduct::choose(const CudaOptions& options, std::uint32_t alignment_bytes) {
  set(CUBLASLT_MATMUL_DESC_TRANSA, problem_.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, problem_.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(problem_));
  if (problem_.bias) {
    // The heuristics read the pointer's alignment from its value.
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, std::uintptr_t{alignment_bytes});
  }

  cublasLtMatmulPreference_t made = nullptr;
  library_.check(library_.matmul_preference_create(&made), "cublasLtMatmulPreferenceCreate");
  const Owned<cublasLtMatmulPreferenceOpaque_t> preference(made,
                                                           library_.matmul_preference_destroy);
  prefer(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
         std::uint64_t{product_workspace_bytes(problem_)});
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(made, name, alignment_bytes);
  }
  if (options.deterministic) {
    // Allows undivided sums too: the mask only excludes other ways to add partial sums.
    prefer(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  }

  std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> results = {};
  int found = 0;
  const cublasStatus_t status = library_.matmul_algo_get_heuristic(
      library_.handle(), operation_.get(), a_.get(), b_.get(), c_.get(), c_.get(), made,
      kMostAlgorithms, results.data(), &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
    library_.check(status, call("cublasLtMatmulAlgoGetHeuristic").c_str());
  }
  for (const auto& result : std::span(results).first(static_cast<std::size_t>(found))) {
    if (result.state == CUBLAS_STATUS_SUCCESS) algorithms_.push_back(result.algo);
  }
  if (!algorithms_.empty()) return;
  throw std::runtime_error(fmt::format("[{}] no algorithm", call("cublasLtMatmul")));
}

// An algorithm that fails once is not tried again, whatever its reason: the last reason counts.
void PreparedProduct::run(const ProductOperands& operands, cudaStream_t stream) {
  if (problem_.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  cublasStatus_t status = run(algorithms_.front(), operands, stream);
  while (status != CUBLAS_STATUS_SUCCESS && algorithms_.size() > 1) {
    algorithms_.erase(algorithms_.begin());
    status = run(algorithms_.front(), operands, stream);
  }
  if (status != CUBLAS_STATUS_SUCCESS) library_.check(status, call("cublasLtMatmul").c_str());
}

cublasStatus_t PreparedProduct::run(const cublasLtMatmulAlgo_t& algorithm,
                                    const ProductOperands& operands, cudaStream_t stream) const {
  const float one = 1, beta = problem_.add ? 1.0f : 0.0f;
  return library_.matmul(library_.handle(), operation_.get(), &one, operands.b, a_.get(),
                         operands.a, b_.get(), &beta, operands.c, c_.get(), operands.c, c_.get(),
                         &algorithm, operands.workspace, product_workspace_bytes(problem_), stream);
}

CublasProducts::CublasProducts(const CudaOptions& options) : options_(options) {}

CublasProducts::~CublasProducts() = default;

std::shared_ptr<PreparedProduct> CublasProducts::prepared(const ProductProblem& problem,
                                                          std::uint32_t alignment_bytes) {
  const Key key{problem, alignment_bytes};
  if (const auto found = prepared_.find(key); found != prepared_.end()) return found->second;
  if (prepared_.size() >= kMostPrepared) prepared_.clear();
  auto product = std::make_shared<PreparedProduct>(library_, problem, options_);
  product->choose(options_, alignment_bytes);
  return prepared_[key] = std::move(product);
}

namespace {

class CublasProduct final : public Product {
 public:
  CublasProduct(CudaCompute& compute, const ProductProblem& problem)
      : compute_(compute), problem_(problem) {}
  // Enqueues. Throws std::runtime_error if the library has no algorithm or all of them fail.
  void run(const ProductOperands& operands) override {
    const std::uint32_t alignment = alignment_of(operands);
    if (!prepared_ || alignment != alignment_bytes_) {
      prepared_ = compute_.libraries().products().prepared(problem_, alignment);
      alignment_bytes_ = alignment;
    }
    prepared_->run(operands, compute_.stream());
  }

 private:
  CudaCompute& compute_;
  ProductProblem problem_;
  std::shared_ptr<PreparedProduct> prepared_;  // of the last run
  std::uint32_t alignment_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Product> make_product(CudaCompute& compute, const ProductProblem& problem) {
  return std::make_unique<CublasProduct>(compute, problem);
}

}  // namespace skyline
