#include "framework/cuda/cuda_compute.h"

#include <exception>

#include "framework/cuda/cuda_error.h"
#include "framework/cuda/cuda_runner.h"
#include "framework/cuda/nccl/cuda_ranks.h"
#include "framework/cuda/uploads.h"
#include "memory/device/cuda_memory.h"

namespace skyline {
namespace {

constexpr unsigned long long kNone = ~0ull;

}  // namespace

WrongValues::~WrongValues() {
  for (const Note& note : notes_) cudaFreeHost(note.noted);
}

unsigned long long* WrongValues::place(Raise raise, std::int64_t range) {
  for (const Note& note : notes_) {
    if (note.raise == raise && note.range == range) return note.noted;
  }
  void* pinned = nullptr;
  check_cuda(cudaMallocHost(&pinned, sizeof kNone), "cudaMallocHost");
  auto* noted = static_cast<unsigned long long*>(pinned);
  *noted = kNone;
  notes_.push_back({noted, raise, range});
  return noted;
}

void WrongValues::check() {
  Note wrong = {};
  unsigned long long first = kNone;
  for (const Note& note : notes_) {
    if (first == kNone && *note.noted != kNone) {
      first = *note.noted;
      wrong = note;
    }
    *note.noted = kNone;
  }
  if (first == kNone) return;
  wrong.raise(static_cast<std::int64_t>(first >> 32), static_cast<std::int32_t>(first),
              wrong.range);
}

EngineChoices* heuristic_choices(Compute& compute) {
  CudaCompute* const cuda = compute.cuda();
  return cuda == nullptr || cuda->options().measured ? nullptr : cuda->options().engines;
}

CudaCompute::CudaCompute(const CudaOptions& options)
    : options_(options), runner_(std::make_unique<CudaRunner>(*this)) {
  if (options.plan_only) return;
  require_cuda_device();
  require_kernel_image();
  stream_ = cuda_stream();
  if (options_.graph) runner_->capture(stream_);
}

CudaCompute::~CudaCompute() {
  if (options_.plan_only) return;
  try {
    synchronize();
  } catch (const std::exception&) {
    // The run has failed, and its first error is on its way.
  }
}

Runner& CudaCompute::runner() noexcept { return *runner_; }

void CudaCompute::write(std::byte* to, const void* host, std::size_t bytes) {
  runner_->flush();
  check_cuda(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
  synchronize();
}

void CudaCompute::upload(std::byte* to, const void* host, std::size_t bytes,
                         const Staging* staging) {
  runner_->flush();
  if (!uploads_) uploads_ = std::make_unique<Uploads>(stream());
  uploads_->upload(to, host, bytes, staging);
}

void CudaCompute::read(void* host, const std::byte* from, std::size_t bytes) {
  runner_->flush();
  check_cuda(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, stream()),
             "cudaMemcpyAsync");
  synchronize();
  wrong_values_.check();
}

void CudaCompute::zero(std::byte* to, std::size_t bytes) {
  runner_->flush();
  check_cuda(cudaMemsetAsync(to, 0, bytes, stream()), "cudaMemsetAsync");
}

void CudaCompute::wait() { synchronize(); }

void CudaCompute::synchronize() {
  runner_->flush();
  if (options_.ranks) return options_.ranks->synchronize(stream());
  check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

}  // namespace skyline
