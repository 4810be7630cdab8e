#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <span>

#include "framework/cuda/make_cuda_compute.h"
#include "framework/cuda/nccl/nccl_library.h"
#include "framework/ranks/rank_group.h"
#include "framework/ranks/rank_place.h"

namespace skyline {

// Enqueues values = ((v0 + v1) + v2) + …, where v of this rank are `values`, and those of the
// others lie in the order of ranks, each `stride` floats after the one before; `received` is the
// first of them.
void add_in_order(cudaStream_t stream, std::span<float> values, const float* received,
                  std::size_t stride, RankOf place);

// Does the works of all ranks over their cards by NCCL, on a stream of its own, bit for bit as
// RankExchange does them over a transport; fast sums add as NCCL likes. The host waits for none of
// it.
//
//   ops    enqueue the values; begin() marks that place
//   works  wait for the mark, exchange, add and exchange again, one work after another
//   ops    enqueued after wait() wait for the work
//
// Thread rule: one thread, the program's. All functions throw std::runtime_error.
class CudaRanks {
 public:
  // Takes a card, as take_card() says.
  explicit CudaRanks(const RankGroup& group);
  // Ends what is still exchanged. All ranks' works are done then, or the run has failed.
  ~CudaRanks();
  CudaRanks(const CudaRanks&) = delete;
  CudaRanks& operator=(const CudaRanks&) = delete;

  void connect(RankGroup& group);

  // All ranks begin the same works in the same sequence. The bytes belong to the work until
  // everything is done that `ops` held when wait() returned.
  void begin(int number, const RankValues& values, cudaStream_t ops);
  void wait(int number, cudaStream_t ops);

  // Waits until everything on the stream is done. Throws if a rank or the network fails, where
  // cudaStreamSynchronize() would wait for ever.
  void synchronize(cudaStream_t stream);

 private:
  // Floats that this rank sends to another and receives from it.
  struct Exchange {
    Pieces sent, received;
  };
  // `with` returns the exchange with a rank, of at most so many pieces each way.
  template <typename With>
  void exchange(std::size_t most_pieces, const With& with);
  // `share` returns the share of a rank.
  template <typename Share>
  std::size_t most_pieces(const Share& share) const;
  void sum_fast(const RankValues& values);
  template <typename Share>
  void add_shares(const RankValues& values, const Share& share);
  void meet();
  void check();

  NcclLibrary nccl_;
  RankOf place_;
  NcclCommunicator* communicator_ = nullptr;  // null until all ranks are connected, and after abort
  cudaStream_t works_ = nullptr;
  cudaEvent_t ready_ = nullptr;      // the values of the work that begins
  std::map<int, cudaEvent_t> done_;  // works, by number
};

}  // namespace skyline
