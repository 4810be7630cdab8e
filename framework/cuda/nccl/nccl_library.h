#pragma once

#include <cuda_runtime.h>

#include <cstddef>

// The part of NCCL that Skyline uses. NCCL keeps its interface within a major version, so its
// header is not needed to build.

namespace skyline {

struct NcclCommunicator;  // opaque

// Tells the ranks of a communicator which one to join.
struct NcclId {
  char bytes[128];
};

inline constexpr int kNcclSuccess = 0, kNcclInProgress = 7;
inline constexpr int kNcclFloat32 = 7;  // of types
inline constexpr int kNcclSum = 0;      // of operations

// NCCL, loaded by the constructor from libnccl.so.2, or from the file that the environment variable
// SKYLINE_NCCL names. Functions return a status for check().
class NcclLibrary {
 public:
  // Throws std::runtime_error that says what to install.
  NcclLibrary();

  // Throws std::runtime_error with the call and the library's reason unless `status` is success.
  void check(int status, const char* call) const;

  int (*get_unique_id)(NcclId* id) = nullptr;
  int (*comm_init_rank)(NcclCommunicator** communicator, int ranks, NcclId id, int rank) = nullptr;
  int (*comm_abort)(NcclCommunicator* communicator) = nullptr;
  int (*comm_get_async_error)(NcclCommunicator* communicator, int* status) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void* from, std::size_t count, int type, int peer,
              NcclCommunicator* communicator, cudaStream_t stream) = nullptr;
  int (*recv)(void* to, std::size_t count, int type, int peer, NcclCommunicator* communicator,
              cudaStream_t stream) = nullptr;
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int operation,
                    NcclCommunicator* communicator, cudaStream_t stream) = nullptr;

 private:
  const char* (*get_error_string_)(int status) = nullptr;
};

}  // namespace skyline
