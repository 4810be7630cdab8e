#include "framework/ops/support/dnnl_kernel.h"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>

#include "framework/lanes/wide_op.h"
#include "memory/alignment.h"

namespace skyline {

namespace {

using dnnl::memory;

// oneDNN's vector loads are widest at 64 bytes.
constexpr std::size_t kScratchAlignmentBytes = 64;

memory::dims dims_of(const Shape& shape) {
  memory::dims dims;
  for (int axis = 0; axis < shape.rank(); ++axis) dims.push_back(shape[axis]);
  return dims;
}

// oneDNN crashes where it gets no memory for generated code, so a limit of addresses (ulimit -v) or
// data must leave this much, which tests/train/killed_runs.py shows to suffice. Asking for it costs
// two system calls and touches nothing.
void require_room_for_code() {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  void* const room = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    throw std::runtime_error(
        "oneDNN needs 16 MiB of addresses to generate code, which the limits of this process "
        "(ulimit -v, ulimit -d) do not leave");
  }
  ::munmap(room, kBytes);
}

// A CPU stream holds no state: primitives run inside execute().
dnnl::stream& dnnl_stream() {
  static dnnl::stream stream(dnnl_engine());
  return stream;
}

}  // namespace

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::desc dnnl_layout(const Shape& shape, memory::data_type type) {
  constexpr memory::format_tag kTags[] = {memory::format_tag::undef, memory::format_tag::a,
                                          memory::format_tag::ab, memory::format_tag::abc,
                                          memory::format_tag::acdb};
  return memory::desc(dims_of(shape), type, kTags[shape.rank()]);
}

memory::desc dnnl_any_layout(const Shape& shape) {
  return memory::desc(dims_of(shape), memory::data_type::f32, memory::format_tag::any);
}

dnnl::primitive_attr dnnl_user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

DnnlKernel::Operand DnnlKernel::add(OperandMemory::Kind kind, std::size_t index,
                                    std::size_t offset_bytes, const memory::desc& layout) {
  operands_.push_back({kind, index, offset_bytes, memory(layout, dnnl_engine(), DNNL_MEMORY_NONE)});
  return operands_.size() - 1;
}

DnnlKernel::Operand DnnlKernel::input(std::size_t index, const memory::desc& layout,
                                      std::size_t offset_bytes) {
  return add(OperandMemory::Kind::kInput, index, offset_bytes, layout);
}

DnnlKernel::Operand DnnlKernel::output(std::size_t index, const memory::desc& layout,
                                       std::size_t offset_bytes) {
  return add(OperandMemory::Kind::kOutput, index, offset_bytes, layout);
}

DnnlKernel::Operand DnnlKernel::scratch(const memory::desc& layout) {
  const std::size_t offset_bytes = scratch_bytes_;
  scratch_bytes_ += align_up(layout.get_size(), kScratchAlignmentBytes);
  return add(OperandMemory::Kind::kScratch, 0, offset_bytes, layout);
}

DnnlKernel::Operand DnnlKernel::reordered(Operand operand, const memory::desc& layout) {
  const memory::desc from = operands_[operand].memory.get_desc();
  if (from == layout) return operand;
  for (const Copy& copy : copies_) {
    if (copy.from == operand && operands_[copy.to].memory.get_desc() == layout) return copy.to;
  }
  const Operand to = scratch(layout);
  copies_.push_back({operand, to});
  call(dnnl::reorder::primitive_desc(dnnl_engine(), from, dnnl_engine(), layout,
                                     dnnl_user_scratchpad()),
       {{DNNL_ARG_FROM, operand}, {DNNL_ARG_TO, to}});
  return to;
}

DnnlKernel::Operand DnnlKernel::output_as(std::size_t index, const memory::desc& plain,
                                          const memory::desc& layout) {
  return layout == plain ? output(index, plain) : scratch(layout);
}

void DnnlKernel::finish_output(Operand produced, std::size_t index, const memory::desc& plain) {
  if (operands_[produced].kind == OperandMemory::Kind::kOutput) return;
  call(dnnl::reorder::primitive_desc(dnnl_engine(), operands_[produced].memory.get_desc(),
                                     dnnl_engine(), plain, dnnl_user_scratchpad()),
       {{DNNL_ARG_FROM, produced}, {DNNL_ARG_TO, output(index, plain)}});
}

void DnnlKernel::call(const dnnl::primitive_desc_base& descriptor,
                      std::unordered_map<int, Operand> arguments) {
  Call added{descriptor, {}, {}, now_};
  for (const auto& [argument, operand] : arguments) {
    added.arguments.emplace(argument, operands_[operand].memory);
  }
  const memory::desc scratchpad = descriptor.scratchpad_desc();
  if (scratchpad.get_size() > 0) {
    scratchpads_.push_back({memory(scratchpad, dnnl_engine(), DNNL_MEMORY_NONE), now_});
    added.arguments.emplace(DNNL_ARG_SCRATCHPAD, scratchpads_.back().memory);
    if (now_ == 0 || now_ == kWhole) {
      scratchpad_bytes_ = std::max(scratchpad_bytes_, scratchpad.get_size());
    } else {
      part_scratchpad_bytes_ =
          std::max(part_scratchpad_bytes_, align_up(scratchpad.get_size(), kScratchAlignmentBytes));
    }
  }
  calls_.push_back(std::move(added));
}

std::vector<std::string> DnnlKernel::implementations() const {
  std::vector<std::string> names;
  for (const Call& call : calls_) names.emplace_back(call.descriptor.impl_info_str());
  return names;
}

std::size_t DnnlKernel::workspace_bytes() const {
  return scratch_bytes_ + std::max(scratchpad_bytes_, parts_ * part_scratchpad_bytes_);
}

void DnnlKernel::point(OperandMemory& operand, const KernelArguments& arguments) const {
  switch (operand.kind) {
    case OperandMemory::Kind::kInput:
      // oneDNN takes inputs without const, but only reads what is not an output of a primitive.
      operand.memory.set_data_handle(const_cast<std::byte*>(arguments.inputs[operand.index]) +
                                     operand.offset_bytes);
      return;
    case OperandMemory::Kind::kOutput:
      operand.memory.set_data_handle(arguments.outputs[operand.index] + operand.offset_bytes);
      return;
    case OperandMemory::Kind::kScratch:
      operand.memory.set_data_handle(arguments.workspace + operand.offset_bytes);
      return;
  }
}

void DnnlKernel::run(const KernelArguments& arguments) {
  for (OperandMemory& operand : operands_) point(operand, arguments);
  for (Scratchpad& scratchpad : scratchpads_) {
    const bool alone = scratchpad.part == 0 || scratchpad.part == kWhole;
    scratchpad.memory.set_data_handle(arguments.workspace + scratch_bytes_ +
                                      (alone ? 0 : (scratchpad.part - 1) * part_scratchpad_bytes_));
  }
  run_part(0);
  const auto run_parts = [this](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      run_part(static_cast<std::size_t>(part) + 1);
    }
  };
  const auto parts = static_cast<std::int64_t>(parts_);
  if (parts > 1 && WideOp::running()) {
    WideOp::share(parts, 1, run_parts);
  } else if (has_whole()) {
    run_part(kWhole);
  } else {
    run_parts(0, parts);
  }
}

bool DnnlKernel::has_whole() const {
  return std::ranges::any_of(calls_, [](const Call& call) { return call.part == kWhole; });
}

void DnnlKernel::run_part(std::size_t part) {
  for (Call& call : calls_) {
    if (call.part != part) continue;
    if (!call.primitive) {
      require_room_for_code();
      call.primitive = dnnl::primitive(call.descriptor.get());
    }
    call.primitive.execute(dnnl_stream(), call.arguments);
  }
}

}  // namespace skyline
