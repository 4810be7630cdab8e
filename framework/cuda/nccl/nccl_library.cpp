#include "framework/cuda/nccl/nccl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace skyline {
namespace {

// Never closed: its kernels may be running.
void* load() {
  const char* const named = std::getenv("SKYLINE_NCCL");
  void* const library = dlopen(named != nullptr ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw std::runtime_error(
      fmt::format("[--ranks] CUDA devices need NCCL: {}; install libnccl2, or the Python wheel "
                  "nvidia-nccl-cu{} and set SKYLINE_NCCL to its libnccl.so.2",
                  dlerror(), CUDART_VERSION / 1000));
}

template <typename Function>
void find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return;
  throw std::runtime_error(fmt::format("[--ranks] NCCL has no {}: too old", name));
}

}  // namespace

NcclLibrary::NcclLibrary() {
  void* const library = load();
  find(library, get_error_string_, "ncclGetErrorString");
  find(library, get_unique_id, "ncclGetUniqueId");
  find(library, comm_init_rank, "ncclCommInitRank");
  find(library, comm_abort, "ncclCommAbort");
  find(library, comm_get_async_error, "ncclCommGetAsyncError");
  find(library, group_start, "ncclGroupStart");
  find(library, group_end, "ncclGroupEnd");
  find(library, send, "ncclSend");
  find(library, recv, "ncclRecv");
  find(library, all_reduce, "ncclAllReduce");
}

void NcclLibrary::check(int status, const char* call) const {
  if (status == kNcclSuccess) return;
  throw std::runtime_error(fmt::format("[{}] {}", call, get_error_string_(status)));
}

}  // namespace skyline
