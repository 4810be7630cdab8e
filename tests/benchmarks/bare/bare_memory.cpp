#include "tests/benchmarks/bare/bare_memory.h"

#include <cstring>

#include "framework/ops/support/dnnl_kernel.h"

namespace skyline {
namespace {

dnnl::memory::data_type type_of(DType type) {
  using dnnl::memory;
  switch (type) {
    case DType::kFloat32:
      return memory::data_type::f32;
    case DType::kInt32:
      return memory::data_type::s32;
    case DType::kUint8:
      return memory::data_type::u8;
  }
  return memory::data_type::undef;
}

}  // namespace

std::byte* BareMemory::own(const Key& key, std::size_t bytes) {
  Block& block = weights_[key];
  if (!block) {
    block = pool_.allocate(bytes);
    std::memset(block.address(), 0, bytes);
  }
  return block.address();
}

std::byte* BareMemory::plain_address(const Operand& operand) {
  if (!is_given(operand)) return operand.address;
  const Key key(operand.address, Use::kPlain);
  const bool is_new = !weights_.contains(key);
  std::byte* address = own(key, operand.spec.bytes());
  const auto given = recording_.given.find(operand.address);
  if (is_new && given != recording_.given.end()) {
    std::memcpy(address, given->second.data(), given->second.size());
  }
  return address;
}

dnnl::memory BareMemory::tensor(const Operand& operand) {
  return tensor(operand, dnnl_layout(operand.spec.shape, type_of(operand.spec.dtype)));
}

dnnl::memory BareMemory::tensor(const Operand& operand, const dnnl::memory::desc& layout) {
  return {layout, dnnl_engine(), plain_address(operand)};
}

dnnl::memory BareMemory::weight(const Operand& operand, const dnnl::memory::desc& plain,
                                const dnnl::memory::desc& layout, Use use) {
  const Key key(operand.address, use);
  const bool is_new = !weights_.contains(key);
  dnnl::memory copy(layout, dnnl_engine(), own(key, layout.get_size()));
  if (is_new && use != Use::kGradient) {
    dnnl::stream stream(dnnl_engine());
    dnnl::memory from = tensor(operand, plain);
    dnnl::reorder(from, copy).execute(stream, from, copy);
  }
  return copy;
}

float* BareMemory::values(const Operand& operand, Use first_choice) {
  const auto found = weights_.find({operand.address, first_choice});
  std::byte* address = found != weights_.end() ? found->second.address() : plain_address(operand);
  return reinterpret_cast<float*>(address);
}

dnnl::memory BareMemory::kept(const std::string& key, const dnnl::memory::desc& layout) {
  const std::size_t bytes = layout.get_size();
  Block& block = kept_[{key, bytes}];
  if (!block) block = pool_.allocate(bytes);
  return {layout, dnnl_engine(), block.address()};
}

}  // namespace skyline
