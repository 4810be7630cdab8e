// Streams, events, copies and memory of the emulated runtime.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/capture.h"
#include "tests/cuda_emulation/device_memory.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/cuda_emulation/grid.h"

namespace {

struct EventState {
  std::uint64_t recorded = 0;    // number of cudaEventRecord calls
  std::uint64_t reached = 0;     // the latest of them that the stream has reached
  std::uint64_t reached_at = 0;  // on the device's clock
  CUstream_st* stream = nullptr;
};

struct Task {
  std::function<void()> run;         // or
  std::shared_ptr<EventState> wait;  // until `reached` is `version`
  std::uint64_t version = 0;
};

}  // namespace

struct CUstream_st {
  std::deque<Task> tasks;
  bool blocking = false;      // ordered with the default stream, without events
  std::size_t exchanges = 0;  // tasks that wait for other processes
};
struct CUevent_st {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

namespace cuda_emulation {
namespace {

struct Device {
  Device() { streams.push_back(std::make_unique<CUstream_st>()); }

  std::vector<std::unique_ptr<CUstream_st>> streams;  // the first is the default stream
  std::mt19937_64 random;
  std::uint64_t clock = 0;  // milliseconds: as many as tasks have run
  std::string fault;        // of a kernel; a context stays dead after it
};

Device& device() {
  // Never destroyed, because static objects of other files may still use it.
  static Device& instance = *new Device;
  return instance;
}

// Returns true if the next task of `stream` can run now.
bool is_ready(const CUstream_st& stream) {
  if (stream.tasks.empty()) return false;
  const Task& task = stream.tasks.front();
  return task.wait == nullptr || task.wait->reached >= task.version;
}

void run_next(CUstream_st& stream);

std::vector<CUstream_st*> ready_streams(const CUstream_st* except = nullptr) {
  std::vector<CUstream_st*> ready;
  for (const auto& stream : device().streams) {
    if (stream.get() != except && is_ready(*stream)) ready.push_back(stream.get());
  }
  return ready;
}

void run_others(const CUstream_st& waited_for) {
  for (auto ready = ready_streams(&waited_for); !ready.empty();
       ready = ready_streams(&waited_for)) {
    for (CUstream_st* stream : ready) run_next(*stream);
  }
}

// Runs random ready streams until `done`, and a little longer.
template <typename Done>
void run_shuffled(const Done& done) {
  auto& random = device().random;
  while (!done() || random() % 4 != 0) {
    const auto ready = ready_streams();
    if (ready.empty()) return;
    run_next(*ready[random() % ready.size()]);
  }
}

template <typename Done>
void run_until(CUstream_st& stream, const Done& done) {
  const StreamOrder order = options().streams;
  if (order == StreamOrder::kShuffled) return run_shuffled(done);
  if (order == StreamOrder::kOthersFirst) run_others(stream);
  while (!done()) {
    run_next(stream);
    if (order == StreamOrder::kOthersFirst) run_others(stream);
  }
}

void run_next(CUstream_st& stream) {
  if (stream.tasks.empty()) {
    throw std::logic_error("[emulated stream] waits for an event that will not come");
  }
  const Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  while (task.wait != nullptr && task.wait->reached < task.version) run_next(*task.wait->stream);
  if (!task.run) return;
  task.run();
  ++device().clock;
}

template <typename Done>
cudaError_t drive(CUstream_st& stream, const Done& done) {
  ++counts().synchronizations;
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  if (!has_pending_work()) return cudaSuccess;
  try {
    const Access access;
    run_until(stream, done);
  } catch (const std::exception& error) {
    device().fault = error.what();
    for (const auto& each : device().streams) {
      each->tasks.clear();
      each->exchanges = 0;
    }
    return cudaErrorLaunchFailure;
  }
  return cudaSuccess;
}

cudaError_t synchronize(CUstream_st& stream) {
  return drive(stream, [&] { return stream.tasks.empty(); });
}

CUstream_st& stream_of(cudaStream_t stream) {
  return stream != nullptr ? *stream : *device().streams.front();
}

// Lets the next task of `later` wait for all tasks of `earlier` so far.
void order_after(CUstream_st& later, CUstream_st& earlier) {
  if (earlier.tasks.empty()) return;
  const auto reached =
      std::make_shared<EventState>(EventState{.recorded = 1, .reached = 0, .stream = &earlier});
  earlier.tasks.push_back({.run = [reached] { reached->reached = 1; }, .wait = nullptr});
  later.tasks.push_back({.run = {}, .wait = reached, .version = 1});
}

// Work on the default stream waits for earlier work on blocking streams, and the other way round.
void order_implicitly(CUstream_st& stream) {
  CUstream_st& standard = *device().streams.front();
  if (stream.blocking) order_after(stream, standard);
  if (&stream != &standard) return;
  for (const auto& other : device().streams) {
    if (other->blocking) order_after(standard, *other);
  }
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> run) {
  if (const cudaError_t error = health(); error != cudaSuccess) return error;
  if (is_capturing(stream)) return capture(std::move(run));
  // A device would let the default stream go on beside a stream that does not wait for it, but the
  // program means nothing by that.
  if (is_capturing() && stream == nullptr) return spoil_capture(cudaErrorStreamCaptureImplicit);
  order_implicitly(stream_of(stream));
  if (&stream_of(stream) == device().streams.front().get()) ++counts().on_default_stream;
  stream_of(stream).tasks.push_back({.run = std::move(run), .wait = nullptr});
  return cudaSuccess;
}

// cudaMemcpyAsync copies from unpinned memory before it returns.
std::function<void()> copy_of(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind != cudaMemcpyHostToDevice || is_pinned(from, bytes)) {
    return [=] {
      open_memory(to, bytes);
      open_memory(from, bytes);
      std::memmove(to, from, bytes);
    };
  }
  const auto* first = static_cast<const std::byte*>(from);
  return [to, staged = std::vector<std::byte>(first, first + bytes)] {
    open_memory(to, staged.size());
    std::memcpy(to, staged.data(), staged.size());
  };
}

}  // namespace

Options& options() {
  static Options& instance = *new Options;
  return instance;
}

Counts& counts() {
  static Counts& instance = *new Counts;
  return instance;
}

Emulated::Emulated(Options set) : before_(options()) {
  options() = set;
  counts() = {};
  last_error() = cudaSuccess;
  device().random.seed(set.seed);
  device().fault.clear();
}

Emulated::~Emulated() {
  options() = before_;
  device().fault.clear();
}

cudaError_t enqueue_work(cudaStream_t stream, std::function<void()> work) {
  return enqueue(stream, [run = std::move(work)] {
    open_memory();
    run();
  });
}

cudaError_t enqueue_exchange(cudaStream_t stream, std::function<void()> work) {
  CUstream_st& queue = stream_of(stream);
  ++queue.exchanges;
  return enqueue_work(stream, [&queue, run = std::move(work)] {
    --queue.exchanges;
    run();
  });
}

bool has_come(std::optional<std::uint64_t>& countdown) {
  if (!countdown) return false;
  if (*countdown > 0) {
    --*countdown;
    return false;
  }
  countdown.reset();
  return true;
}

int& current_device() {
  static int device = 0;
  return device;
}

cudaError_t& last_error() {
  static cudaError_t error = cudaSuccess;
  return error;
}

const std::string& fault() { return device().fault; }

cudaError_t health() {
  if (options().driver_version < CUDART_VERSION) return cudaErrorInsufficientDriver;
  if (options().devices <= 0) return cudaErrorNoDevice;
  return device().fault.empty() ? cudaSuccess : cudaErrorLaunchFailure;
}

bool has_pending_work() {
  return !std::ranges::all_of(device().streams, [](const auto& s) { return s->tasks.empty(); });
}

cudaError_t find_kernels() {
  return options().compute_capability == 90 ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}

cudaError_t enqueue_kernel(const cudaLaunchConfig_t& config, std::function<void()> thread) {
  const dim3 grid = config.gridDim, block = config.blockDim;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  constexpr unsigned kMostYZ = 65535;
  if (threads == 0 || threads > 1024 || block.z > 64 || blocks == 0 || grid.x > 0x7FFFFFFF ||
      grid.y > kMostYZ || grid.z > kMostYZ || config.dynamicSmemBytes != 0) {
    return cudaErrorInvalidConfiguration;
  }
  if (!is_capturing(config.stream)) ++counts().kernels;
  return enqueue_work(config.stream,
                      [grid, block, run = std::move(thread)] { run_grid(grid, block, run); });
}

}  // namespace cuda_emulation

using cuda_emulation::counts;
using cuda_emulation::device;
using cuda_emulation::enqueue;
using cuda_emulation::health;
using cuda_emulation::health_outside_captures;
using cuda_emulation::is_capturing;
using cuda_emulation::is_on_device;
using cuda_emulation::is_pinned;
using cuda_emulation::options;
using cuda_emulation::spoil_capture;
using cuda_emulation::stream_of;

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const int capability = options().compute_capability;
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? capability / 10 : capability % 10;
  return health();
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = options().devices;
  return health();
}

cudaError_t cudaGetDevice(int* number) {
  *number = cuda_emulation::current_device();
  return health();
}

cudaError_t cudaSetDevice(int number) {
  if (number < 0 || number >= options().devices) return cudaErrorInvalidValue;
  cuda_emulation::current_device() = number;
  return health();
}

cudaError_t cudaDeviceSynchronize() {
  cudaError_t error = cuda_emulation::health_outside_captures();
  for (const auto& stream : device().streams) {
    const cudaError_t other = cuda_emulation::synchronize(*stream);
    if (error == cudaSuccess) error = other;
  }
  return error;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
  device().streams.push_back(std::make_unique<CUstream_st>());
  device().streams.back()->blocking = flags == cudaStreamDefault;
  *stream = device().streams.back().get();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t error = cuda_emulation::synchronize(*stream);
  std::erase_if(device().streams, [&](const auto& known) { return known.get() == stream; });
  return error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return cuda_emulation::synchronize(stream_of(stream));
}

// The first query of a stream with work says that it is not ready; the host may then do other work.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  static bool asked = false;
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  asked = !asked && !stream_of(stream).tasks.empty();
  return asked ? cudaErrorNotReady : cuda_emulation::synchronize(stream_of(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const auto& state = event->state;
  if (const cudaError_t error = health(); error != cudaSuccess) return error;
  if (is_capturing(stream)) return spoil_capture(cudaErrorStreamCaptureIsolation);
  if (state->recorded == 0 || cuda_emulation::has_come(options().ignored_wait)) return cudaSuccess;
  const bool meets = state->reached < state->recorded && state->stream->exchanges > 0;
  stream_of(stream).tasks.push_back({.run = {}, .wait = state, .version = state->recorded});
  // Other processes may wait for the exchange, and nothing else may make this one run it.
  return meets ? cuda_emulation::synchronize(stream_of(stream)) : cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return health();
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

// A device would let other streams join a capture by events.
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (is_capturing(stream)) return spoil_capture(cudaErrorStreamCaptureUnsupported);
  const auto state = event->state;
  state->stream = &stream_of(stream);
  const std::uint64_t version = ++state->recorded;
  return enqueue(stream, [state, version] {
    state->reached = version;
    state->reached_at = device().clock;
  });
}

// So much work has run between the two, the first record included.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (const cudaError_t error = health(); error != cudaSuccess) return error;
  *milliseconds = static_cast<float>(end->state->reached_at - begin->state->reached_at);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const auto state = event->state;
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  if (state->recorded == 0 || cuda_emulation::has_come(options().ignored_wait)) return cudaSuccess;
  return cuda_emulation::drive(*state->stream, [&] { return state->reached >= state->recorded; });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  return event->state->reached >= event->state->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (to_device != is_on_device(to, bytes) || from_device != is_on_device(from, bytes)) {
    return cudaErrorInvalidValue;
  }
  const bool from_host = kind == cudaMemcpyHostToDevice && !is_pinned(from, bytes);
  const bool to_host = kind == cudaMemcpyDeviceToHost && !is_pinned(to, bytes);
  if (is_capturing(stream)) {
    // A device would read or write such memory at each launch, when it may be gone.
    if (from_host || to_host) return spoil_capture(cudaErrorStreamCaptureUnsupported);
  } else {
    ++counts().copies;
  }
  const cudaError_t error = enqueue(stream, cuda_emulation::copy_of(to, from, bytes, kind));
  return error == cudaSuccess && to_host ? cudaStreamSynchronize(stream) : error;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (!is_on_device(to, bytes)) return cudaErrorInvalidValue;
  if (!is_capturing(stream)) ++counts().fills;
  return enqueue(stream, [=] {
    cuda_emulation::open_memory(to, bytes);
    std::memset(to, value, bytes);
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = options().driver_version;
  return cudaSuccess;
}
