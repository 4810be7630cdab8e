// NCCL's functions that Skyline uses, between processes with an emulated device each, as a library
// that the program loads in the place of NCCL. It uses the emulation inside the program. Wrong
// calls are refused; so are transfers that no device memory holds when they are enqueued or run.
// With SKYLINE_NCCL_FAULT=order, the values that each second exchange receives come in the place of
// another rank's.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "framework/cuda/nccl/nccl_library.h"
#include "tests/cuda_emulation/device_memory.h"
#include "tests/cuda_emulation/nccl/links.h"

struct skyline::NcclCommunicator {
  std::shared_ptr<cuda_emulation::Links> links;
  std::size_t exchanges = 0;
};

namespace {

using cuda_emulation::Links;
using cuda_emulation::Transfer;
using skyline::NcclCommunicator;

enum Status {
  kSuccess = 0,
  kCudaError = 1,
  kSystemError = 2,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
};

// The calls since the first ncclGroupStart().
struct Group {
  int depth = 0;
  NcclCommunicator* communicator = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Transfer> transfers;
};

Group& group() {
  static Group instance;
  return instance;
}

void require_memory(const Transfer& transfer) {
  if (cuda_emulation::is_on_device(transfer.address, transfer.bytes)) return;
  throw std::logic_error("[emulated NCCL] a transfer is not in device memory");
}

// Exchanges the places of what comes from two ranks in equal pieces.
void mix_up(std::vector<Transfer>& transfers) {
  for (auto a = transfers.begin(); a != transfers.end(); ++a) {
    if (a->sends) continue;
    const auto b = std::find_if(a + 1, transfers.end(), [&](const Transfer& other) {
      return !other.sends && other.peer != a->peer && other.bytes == a->bytes;
    });
    if (b == transfers.end()) continue;
    std::swap(a->address, b->address);
    return;
  }
}

bool has_fault() {
  const char* const fault = std::getenv("SKYLINE_NCCL_FAULT");
  return fault != nullptr && std::string(fault) == "order";
}

int enqueue() {
  Group calls = std::exchange(group(), {});
  if (calls.transfers.empty()) return kSuccess;
  if (has_fault() && calls.communicator->exchanges++ % 2 == 1) mix_up(calls.transfers);
  const cudaError_t error = cuda_emulation::enqueue_exchange(
      calls.stream, [links = calls.communicator->links, transfers = std::move(calls.transfers)] {
        for (const Transfer& transfer : transfers) require_memory(transfer);
        links->exchange(transfers);
      });
  return error == cudaSuccess ? kSuccess : kCudaError;
}

int add(Transfer transfer, std::size_t count, NcclCommunicator* communicator, cudaStream_t stream) {
  if (communicator == nullptr || transfer.peer < 0 ||
      transfer.peer >= communicator->links->ranks() ||
      transfer.peer == communicator->links->rank() || transfer.type != skyline::kNcclFloat32) {
    return kInvalidArgument;
  }
  transfer.bytes = count * sizeof(float);
  if (!cuda_emulation::is_on_device(transfer.address, transfer.bytes)) return kInvalidArgument;
  Group& calls = group();
  if (calls.transfers.empty()) {
    calls.communicator = communicator;
    calls.stream = stream;
  }
  if (calls.communicator != communicator || calls.stream != stream) return kInvalidUsage;
  calls.transfers.push_back(transfer);
  return calls.depth == 0 ? enqueue() : kSuccess;
}

}  // namespace

extern "C" {

int ncclGetUniqueId(skyline::NcclId* id) {
  *id = {};
  const std::string name = std::to_string(getpid()) + "-" + std::to_string(std::random_device()());
  std::memcpy(id->bytes, name.data(), name.size());
  return kSuccess;
}

int ncclCommInitRank(NcclCommunicator** communicator, int ranks, skyline::NcclId id, int rank) {
  if (ranks < 1 || rank < 0 || rank >= ranks || id.bytes[0] == '\0') return kInvalidArgument;
  if (group().depth > 0) return kInvalidUsage;
  try {
    *communicator = new NcclCommunicator{.links = std::make_shared<Links>(id.bytes, rank, ranks)};
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kSystemError;
  }
  return kSuccess;
}

int ncclCommAbort(NcclCommunicator* communicator) {
  if (communicator == nullptr) return kInvalidArgument;
  communicator->links->abort();
  delete communicator;
  return kSuccess;
}

int ncclCommGetAsyncError(NcclCommunicator* communicator, int* status) {
  if (communicator == nullptr) return kInvalidArgument;
  *status = communicator->links->failed() ? kRemoteError : kSuccess;
  return kSuccess;
}

int ncclGroupStart() {
  ++group().depth;
  return kSuccess;
}

int ncclGroupEnd() {
  if (group().depth == 0) return kInvalidUsage;
  return --group().depth == 0 ? enqueue() : kSuccess;
}

int ncclSend(const void* from, std::size_t count, int type, int peer,
             NcclCommunicator* communicator, cudaStream_t stream) {
  auto* const address = static_cast<std::byte*>(const_cast<void*>(from));
  return add({.sends = true, .peer = peer, .address = address, .type = type}, count, communicator,
             stream);
}

int ncclRecv(void* to, std::size_t count, int type, int peer, NcclCommunicator* communicator,
             cudaStream_t stream) {
  return add({.peer = peer, .address = static_cast<std::byte*>(to), .type = type}, count,
             communicator, stream);
}

// Adds from the last rank to the first: not in the order of ranks.
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation,
                  NcclCommunicator* communicator, cudaStream_t stream) {
  const std::size_t bytes = count * sizeof(float);
  if (communicator == nullptr || type != skyline::kNcclFloat32 || operation != skyline::kNcclSum ||
      !cuda_emulation::is_on_device(from, bytes) || !cuda_emulation::is_on_device(to, bytes)) {
    return kInvalidArgument;
  }
  if (group().depth > 0) return kInvalidUsage;  // NCCL takes it; nobody here gives it
  const cudaError_t error = cuda_emulation::enqueue_exchange(
      stream, [links = communicator->links, from, to, count, bytes, type] {
        const auto ranks = static_cast<std::size_t>(links->ranks());
        std::vector<std::vector<float>> values(ranks, std::vector<float>(count));
        std::vector<float>& own = values[static_cast<std::size_t>(links->rank())];
        std::memcpy(own.data(), from, bytes);
        std::vector<Transfer> transfers;
        for (int peer = 0; peer < links->ranks(); ++peer) {
          if (peer == links->rank()) continue;
          auto& received = values[static_cast<std::size_t>(peer)];
          transfers.push_back({true, peer, reinterpret_cast<std::byte*>(own.data()), bytes, type});
          transfers.push_back(
              {false, peer, reinterpret_cast<std::byte*>(received.data()), bytes, type});
        }
        links->exchange(transfers);
        for (std::size_t rank = ranks - 1; rank-- > 0;) {
          for (std::size_t i = 0; i < count; ++i) values[ranks - 1][i] += values[rank][i];
        }
        std::memcpy(to, values[ranks - 1].data(), bytes);
      });
  return error == cudaSuccess ? kSuccess : kCudaError;
}

const char* ncclGetErrorString(int status) {
  switch (status) {
    case kSuccess:
      return "no error";
    case kCudaError:
      return "unhandled cuda error";
    case kSystemError:
      return "unhandled system error";
    case kInvalidArgument:
      return "invalid argument";
    case kInvalidUsage:
      return "invalid usage";
    case kRemoteError:
      return "remote process exited or there was a network error";
  }
  return "unknown result code";
}
}
