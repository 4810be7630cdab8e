#include "framework/cuda/nccl/nccl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace skyline {
namespace {

// Never closed: its kernels may be running.
void* load_nccl() {
  const char* const named = std::getenv("SKYLINE_NCCL");
  void* const library = dlopen(named != nullptr ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw std::runtime_error(
      fmt::format("[--ranks] CUDA devices need NCCL: {}; install libnccl2, or the Python wheel "
                  "nvidia-nccl-cu{} and set SKYLINE_NCCL to its libnccl.so.2",
                  dlerror(), CUDART_VERSION / 1000));
}

template <typename Function>
void find_nccl(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return;
  throw std::runtime_error(fmt::format("[--ranks] NCCL has no {}: too old", name));
}

}  // namespace

NcclLibrary::NcclLibrary() {
  void* const library = load_nccl();
  find_nccl(library, get_error_string_, "ncclGetErrorString");
  find_nccl(library, get_unique_id, "ncclGetUniqueId");
  find_nccl(library, comm_init_rank, "ncclCommInitRank");
  find_nccl(library, comm_abort, "ncclCommAbort");
  find_nccl(library, comm_get_async_error, "ncclCommGetAsyncError");
  find_nccl(library, group_start, "ncclGroupStart");
  find_nccl(library, group_end, "ncclGroupEnd");
  find_nccl(library, send, "ncclSend");
  find_nccl(library, recv, "ncclRecv");
  find_nccl(library, all_reduce, "ncclAllReduce");
}

void NcclLibrary::check(int status, const char* call) const {
  if (status == kNcclSuccess) return;
  throw std::runtime_error(fmt::format("[{}] {}", call, get_error_string_(status)));
}

}  // namespace skyline
