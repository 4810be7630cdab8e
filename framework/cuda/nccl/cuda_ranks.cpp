#include "framework/cuda/nccl/cuda_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "framework/cuda/cuda_error.h"
#include "memory/device/cuda_memory.h"

namespace skyline {
namespace {

// NCCL before 2.15 refuses more than 2048 calls in a group.
constexpr std::size_t kMostCalls = 2048;

void use_card(const RankGroup& group) {
  require_cuda_device();
  int cards = 0;
  check_cuda(cudaGetDeviceCount(&cards), "cudaGetDeviceCount");
  if (group.ranks_here() > static_cast<std::size_t>(cards)) {
    throw std::runtime_error(
        fmt::format("[--ranks] {} ranks run on this machine, which has {} CUDA device{}: each rank "
                    "needs one",
                    group.ranks_here(), cards, cards == 1 ? "" : "s"));
  }
  check_cuda(cudaSetDevice(static_cast<int>(group.rank_here())), "cudaSetDevice");
}

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return event;
}

// Makes `later` wait for everything on `earlier` so far.
void order(cudaStream_t earlier, cudaEvent_t event, cudaStream_t later) {
  check_cuda(cudaEventRecord(event, earlier), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(later, event), "cudaStreamWaitEvent");
}

// Device memory for as long as ranks meet.
struct Floats {
  explicit Floats(std::size_t count) {
    check_cuda(cudaMalloc(&data, count * sizeof(float)), "cudaMalloc");
  }
  ~Floats() { cudaFree(data); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  float* data = nullptr;
};

}  // namespace

std::shared_ptr<CudaRanks> take_card(const RankGroup& group) {
  return std::make_shared<CudaRanks>(group);
}

void connect_cards(CudaRanks& ranks, RankGroup& group) { ranks.connect(group); }

CudaRanks::CudaRanks(const RankGroup& group)
    : place_{.rank = group.rank(), .ranks = group.ranks()} {
  use_card(group);
}

void CudaRanks::connect(RankGroup& group) {
  check_cuda(cudaStreamCreateWithFlags(&works_, cudaStreamNonBlocking), "cudaStreamCreate");
  ready_ = new_event();
  NcclId id = {};
  if (place_.rank == 0) nccl_.check(nccl_.get_unique_id(&id), "ncclGetUniqueId");
  const std::string bytes = group.broadcast({id.bytes, sizeof id.bytes});
  std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
  nccl_.check(nccl_.comm_init_rank(&communicator_, static_cast<int>(place_.ranks), id,
                                   static_cast<int>(place_.rank)),
              "ncclCommInitRank");
  meet();
}

CudaRanks::~CudaRanks() {
  if (communicator_ != nullptr) nccl_.comm_abort(communicator_);
  for (const auto& [number, event] : done_) cudaEventDestroy(event);
  if (ready_ != nullptr) cudaEventDestroy(ready_);
  if (works_ != nullptr) cudaStreamDestroy(works_);
}

// Each rank tells the others its number. NCCL takes memory when two cards first exchange something,
// and what is free is asked for after this.
void CudaRanks::meet() {
  const std::size_t ranks = place_.ranks;
  const Floats floats(ranks);
  std::vector<float> numbers(ranks, -1.0f), expected;
  for (std::size_t rank = 0; rank < ranks; ++rank) expected.push_back(static_cast<float>(rank));
  numbers[place_.rank] = expected[place_.rank];
  const std::size_t bytes = ranks * sizeof(float);
  check_cuda(cudaMemcpyAsync(floats.data, numbers.data(), bytes, cudaMemcpyHostToDevice, works_),
             "cudaMemcpyAsync");
  exchange(1, [&](std::size_t other) {
    return Exchange{.sent = {{floats.data + place_.rank, 1}},
                    .received = {{floats.data + other, 1}}};
  });
  synchronize(works_);
  check_cuda(cudaMemcpyAsync(numbers.data(), floats.data, bytes, cudaMemcpyDeviceToHost, works_),
             "cudaMemcpyAsync");
  synchronize(works_);
  if (numbers != expected) throw std::runtime_error("[--ranks] NCCL mixes up the ranks");
}

void CudaRanks::begin(int number, const RankValues& values, cudaStream_t ops) {
  check();
  order(ops, ready_, works_);
  const auto share = [&](std::size_t rank) {
    return share_of(values, {.rank = rank, .ranks = place_.ranks});
  };
  if (values.work == RankWork::kFastSum) sum_fast(values);
  if (values.work == RankWork::kSum || values.work == RankWork::kSumShares) {
    add_shares(values, share);
  }
  if (values.work == RankWork::kSum || values.work == RankWork::kGatherShares) {
    const Pieces own = share(place_.rank);
    exchange(most_pieces(share),
             [&](std::size_t other) { return Exchange{.sent = own, .received = share(other)}; });
  }
  cudaEvent_t& done = done_[number];
  if (done == nullptr) done = new_event();
  check_cuda(cudaEventRecord(done, works_), "cudaEventRecord");
}

void CudaRanks::sum_fast(const RankValues& values) {
  for (const std::span<float> piece : cut(values.tensors, 0, size_of(values.tensors))) {
    nccl_.check(nccl_.all_reduce(piece.data(), piece.data(), piece.size(), kNcclFloat32, kNcclSum,
                                 communicator_, works_),
                "ncclAllReduce");
  }
}

// Returns how many pieces the share of any rank has at most.
template <typename Share>
std::size_t CudaRanks::most_pieces(const Share& share) const {
  std::size_t most = 0;
  for (std::size_t rank = 0; rank < place_.ranks; ++rank) {
    most = std::max(most, share(rank).size());
  }
  return most;
}

template <typename Share>
void CudaRanks::add_shares(const RankValues& values, const Share& share) {
  const Pieces own = share(place_.rank);
  const std::size_t size = size_of(own);
  exchange(most_pieces(share), [&](std::size_t other) {
    std::size_t at = (other < place_.rank ? other : other - 1) * size;
    Exchange with{.sent = share(other), .received = {}};
    for (const std::span<float> piece : own) {
      with.received.push_back(values.received.subspan(at, piece.size()));
      at += piece.size();
    }
    return with;
  });
  const float* received = values.received.data();
  for (const std::span<float> piece : own) {
    add_in_order(works_, piece, received, size, place_);
    received += piece.size();
  }
}

void CudaRanks::wait(int number, cudaStream_t ops) {
  check();
  check_cuda(cudaStreamWaitEvent(ops, done_.at(number)), "cudaStreamWaitEvent");
}

// In round d, each rank sends to the rank d after it and receives from the rank d before it. All
// ranks end a group after the same round.
template <typename With>
void CudaRanks::exchange(std::size_t most_pieces, const With& with) {
  const std::size_t most_calls = std::max<std::size_t>(2 * most_pieces, 1);  // of a round
  std::size_t rounds = 0;                                                    // of the group
  nccl_.check(nccl_.group_start(), "ncclGroupStart");
  for (std::size_t distance = 1; distance < place_.ranks; ++distance) {
    const std::size_t to = (place_.rank + distance) % place_.ranks;
    const std::size_t from = (place_.rank + place_.ranks - distance) % place_.ranks;
    const Pieces sent = with(to).sent, received = with(from).received;
    if (rounds > 0 && (rounds + 1) * most_calls > kMostCalls) {
      nccl_.check(nccl_.group_end(), "ncclGroupEnd");
      nccl_.check(nccl_.group_start(), "ncclGroupStart");
      rounds = 0;
    }
    ++rounds;
    for (const std::span<float> piece : sent) {
      nccl_.check(nccl_.send(piece.data(), piece.size(), kNcclFloat32, static_cast<int>(to),
                             communicator_, works_),
                  "ncclSend");
    }
    for (const std::span<float> piece : received) {
      nccl_.check(nccl_.recv(piece.data(), piece.size(), kNcclFloat32, static_cast<int>(from),
                             communicator_, works_),
                  "ncclRecv");
    }
  }
  nccl_.check(nccl_.group_end(), "ncclGroupEnd");
}

void CudaRanks::synchronize(cudaStream_t stream) {
  cudaError_t status = cudaStreamQuery(stream);
  for (; status == cudaErrorNotReady; status = cudaStreamQuery(stream)) {
    check();
    std::this_thread::yield();
  }
  check_cuda(status, "cudaStreamQuery");
}

// Until the communicator is aborted, streams that wait for its exchanges wait for ever.
void CudaRanks::check() {
  if (communicator_ == nullptr) return;
  int status = kNcclSuccess;
  nccl_.check(nccl_.comm_get_async_error(communicator_, &status), "ncclCommGetAsyncError");
  if (status == kNcclSuccess || status == kNcclInProgress) return;
  nccl_.comm_abort(communicator_);
  communicator_ = nullptr;
  nccl_.check(status, "exchange between ranks");
}

}  // namespace skyline
