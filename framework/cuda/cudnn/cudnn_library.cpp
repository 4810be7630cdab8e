#include "framework/cuda/cudnn/cudnn_library.h"

#include <fmt/format.h>

#include <stdexcept>

namespace skyline {
namespace {

// The library found may be older than the headers. Described cards need 9.8.
void require_version() {
  constexpr std::size_t kOldest = 90800;
  const std::size_t version = cudnnGetVersion();
  if (version >= kOldest) return;
  throw std::runtime_error(
      fmt::format("[--device cuda] cuDNN is too old, got {}.{}.{}, expected 9.8 or newer",
                  version / 10000, version % 10000 / 100, version % 100));
}

cudnnHandle_t start(cudaStream_t stream) {
  require_version();
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = cudnnCreate(&handle);
  if (status == CUDNN_STATUS_SUCCESS) status = cudnnSetStream(handle, stream);
  if (status == CUDNN_STATUS_SUCCESS) return handle;
  throw std::runtime_error(
      fmt::format("[--device cuda] cuDNN cannot start: {}", cudnnGetErrorString(status)));
}

const std::string& require_card(const EngineChoices& engines) {
  if (!engines.card.empty()) return engines.card;
  throw std::runtime_error("[--device cuda] no device, and no plan that describes a card");
}

// Returns cuDNN's properties of the described card.
CudnnDescriptor described_card(const std::string& json) {
  require_version();
  CudnnDescriptor card(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  try {
    card.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json);
    card.finalize();
  } catch (const CudnnError& error) {
    throw std::runtime_error(
        fmt::format("[plan] card, got a description that cuDNN refuses: {}", error.what()));
  }
  return card;
}

CudnnDescriptor card_of(cudnnHandle_t handle) {
  CudnnDescriptor card(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  card.set(CUDNN_ATTR_DEVICEPROP_HANDLE, handle);
  card.finalize();
  return card;
}

}  // namespace

CudnnLibrary::CudnnLibrary(cudaStream_t stream, const CudaOptions& options)
    : engines_(options.engines ? options.engines : &own_engines_),
      handle_(options.plan_only ? nullptr : start(stream)),
      card_(handle_ ? card_of(handle()) : described_card(require_card(*engines_))) {
  const auto version = static_cast<std::int64_t>(cudnnGetVersion());
  const std::string here = card_.text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  if (engines_->card.empty()) engines_->card = here;
  require_same_card(*engines_, here, version);
  engines_->cudnn = version;
}

}  // namespace skyline
