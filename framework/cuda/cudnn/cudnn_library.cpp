#include "framework/cuda/cudnn/cudnn_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace skyline {
namespace {

std::string sentence(const std::string& call, cudnnStatus_t status) {
  char reason[512] = "";
  cudnnGetLastErrorString(reason, sizeof reason);
  return fmt::format("[{}] {}{}{}", call, cudnnGetErrorString(status), *reason ? ": " : "", reason);
}

void check_attribute(cudnnStatus_t status, const char* call, cudnnBackendAttributeName_t name) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw CudnnError(fmt::format("{} of attribute {}", call, static_cast<int>(name)), status);
}

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

CudnnError::CudnnError(const std::string& call, cudnnStatus_t status)
    : std::runtime_error(sentence(call, status)), status_(status) {}

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) throw CudnnError(call, status);
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check_cudnn(cudnnBackendCreateDescriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void CudnnDescriptor::set(Name name, cudnnBackendAttributeType_t type, std::size_t count,
                          const void* values) {
  check_attribute(
      cudnnBackendSetAttribute(descriptor_, name, type, static_cast<std::int64_t>(count), values),
      "cudnnBackendSetAttribute", name);
}

void CudnnDescriptor::set(Name name, const std::string& value) {
  set(name, CUDNN_TYPE_CHAR, value.size() + 1, value.c_str());
}

void CudnnDescriptor::set(Name name, const std::vector<std::int64_t>& values) {
  set(name, CUDNN_TYPE_INT64, values.size(), values.data());
}

void CudnnDescriptor::set(Name name, const CudnnDescriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}

void CudnnDescriptor::set(Name name, const std::vector<CudnnDescriptor>& values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& value : values) raw.push_back(value.get());
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw.size(), raw.data());
}

void CudnnDescriptor::set_pointers(Name name, const std::vector<void*>& values) {
  set(name, CUDNN_TYPE_VOID_PTR, values.size(), values.data());
}

void CudnnDescriptor::finalize() {
  check_cudnn(cudnnBackendFinalize(descriptor_), "cudnnBackendFinalize");
}

std::int64_t CudnnDescriptor::get(Name name, cudnnBackendAttributeType_t type, std::int64_t most,
                                  void* values) const {
  std::int64_t count = 0;
  check_attribute(cudnnBackendGetAttribute(descriptor_, name, type, most, &count, values),
                  "cudnnBackendGetAttribute", name);
  return count;
}

std::int64_t CudnnDescriptor::count(Name name, cudnnBackendAttributeType_t type) const {
  return get(name, type, 0, nullptr);
}

std::int64_t CudnnDescriptor::integer(Name name) const {
  std::int64_t value = 0;
  get(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::string CudnnDescriptor::text(Name name) const {
  std::string value(static_cast<std::size_t>(count(name, CUDNN_TYPE_CHAR)), '\0');
  get(name, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(value.size()), value.data());
  return value.substr(0, value.find('\0'));
}

std::vector<cudnnBackendNumericalNote_t> CudnnDescriptor::numerical_notes(Name name) const {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  notes.resize(static_cast<std::size_t>(
      get(name, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes.data())));
  return notes;
}

cudnnBackendKnobType_t CudnnDescriptor::knob_type(Name name) const {
  cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_COUNTS;
  get(name, CUDNN_TYPE_KNOB_TYPE, 1, &type);
  return type;
}

CudnnDescriptor CudnnDescriptor::descriptor(Name name, cudnnBackendDescriptorType_t type) const {
  CudnnDescriptor result(type);
  get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &result.descriptor_);
  return result;
}

std::vector<CudnnDescriptor> CudnnDescriptor::descriptors(Name name,
                                                          cudnnBackendDescriptorType_t type,
                                                          std::int64_t most) const {
  std::vector<CudnnDescriptor> results;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t k = 0; k < most; ++k) raw.push_back(results.emplace_back(type).get());
  const std::int64_t filled = get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data());
  results.erase(results.begin() + std::min(filled, most), results.end());
  return results;
}

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
