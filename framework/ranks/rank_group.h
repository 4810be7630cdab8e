#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "framework/ranks/rank_place.h"
#include "framework/ranks/rank_transport.h"

// How the ranks of a run exchange values: one exchange, and the thread that does them all.

namespace skyline {

// Floats that lie in several places, as one sequence.
using Pieces = std::vector<std::span<float>>;

std::size_t size_of(const Pieces& pieces);

// Elements [first, last) of the sequence, in pieces of at most 256 MiB.
Pieces cut(const Pieces& pieces, std::size_t first, std::size_t last);

// The first element of rank `rank`'s share of `size` elements; that of rank `ranks` is `size`.
// Shares are equal, except for the last ones.
std::size_t share_begin(std::size_t size, std::size_t rank, std::size_t ranks);

// The elements of a tensor of `size` elements that one rank updates under sharding. They begin at a
// multiple of 64, as vectors of floats want it.
struct RankShare {
  std::size_t begin = 0, end = 0;
  std::size_t size() const noexcept { return end - begin; }
};
RankShare share_of_tensor(std::size_t size, const RankOf& place);
// The elements of the largest share, at least 1.
std::size_t largest_share_of_tensor(std::size_t size, std::size_t ranks);

// The works that ranks do together with values of the same sizes on each.
enum class RankWork : char {
  kSum,           // every value becomes its sum, added in the order of ranks
  kSumShares,     // each rank's share of every tensor becomes its sum; the rest stays as it is
  kGatherShares,  // every value becomes that of the rank whose share it is in
  kFastSum,       // every value becomes its sum, added as the transport likes
};

// One rank's part of it.
struct RankValues {
  RankWork work = RankWork::kSum;
  Pieces tensors;
  std::span<float> received;  // scratch of RankExchange::received_floats() elements
};

// The requests of one exchange, until all are done.
class OpenRequests {
 public:
  void add(RankTransport::Request request) { open_.push_back(request); }
  // Asks which are done. Returns true if none is open.
  bool finished(RankTransport& transport);

 private:
  std::vector<RankTransport::Request> open_;
};

// The values of a rank's share, which it adds or gives to the others.
Pieces share_of(const RankValues& values, const RankOf& place);

// Does one work of all ranks. Sums are ((v0 + v1) + v2) + …, except fast ones, so the bits depend
// on neither speed nor placement: each rank receives the others' values of its share of the
// elements, adds them, and sends the sums to the others. No float is copied except by the
// transport.
class RankExchange {
 public:
  // Returns how many elements RankValues::received needs for tensors of `sizes` on so many ranks.
  static std::size_t received_floats(RankWork work, std::span<const std::size_t> sizes,
                                     std::size_t ranks);

  // Messages have the tag `tag`; two exchanges of one tag must not overlap.
  RankExchange(RankValues values, int tag);

  // Does what can be done at once. Returns true when the work is done.
  bool advance(RankTransport& transport);

 private:
  enum class Phase { kNew, kScatter, kLast };

  void begin(RankTransport& transport);
  void scatter(RankTransport& transport);
  void add(std::size_t rank, std::size_t ranks);
  void gather(RankTransport& transport);

  RankValues values_;
  int tag_;
  Phase phase_ = Phase::kNew;
  OpenRequests requests_;
};

// The ranks of a run as one of them sees them. Its thread moves all bytes, so they travel beside
// the computation. Each rank tells the next one every second that it is alive; a rank that is
// silent for long ends the run. Thread rule: one thread, the program's.
class RankGroup {
 public:
  struct Options {
    // Makes the transport; called on the group's thread.
    std::function<std::unique_ptr<RankTransport>()> connect;
    // Called on the group's thread when a rank was silent for `silence_seconds`. Then all ranks
    // end.
    std::function<void(std::size_t rank)> on_silence;
    double silence_seconds = 10;
  };

  // Throws what Options::connect throws.
  explicit RankGroup(Options options);
  // Ends all ranks, unless leave() was called.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  std::size_t rank() const noexcept { return rank_; }
  std::size_t ranks() const noexcept { return ranks_; }
  // Ranks on this machine, and which of them this is.
  std::size_t ranks_here() const noexcept { return ranks_here_; }
  std::size_t rank_here() const noexcept { return rank_here_; }

  // All ranks call the following functions in the same sequence.
  // Returns the bytes of every rank, in the order of ranks.
  std::vector<std::string> gather(std::string bytes);
  // Returns the bytes of rank 0. The other ranks' are ignored.
  std::string broadcast(std::string bytes);
  // Returns once all ranks have called it. No other call follows.
  void leave();

  // Begins a work of all ranks. The values must stay until wait(number) returns. Works of different
  // numbers may run at the same time; ranks may begin them in different sequences, unless they are
  // fast sums.
  void begin(int number, RankValues values);
  // Returns once the work of this number is done; at once if none was begun.
  void wait(int number);

  // All works so far took `working` seconds from begin to end; wait() waited `waiting` of them, and
  // gather() and broadcast() waited `gathering`.
  struct Seconds {
    double working = 0, waiting = 0, gathering = 0;
  };
  Seconds seconds() const;

 private:
  struct Gather;
  struct Heartbeat;
  struct Work {
    int number;
    RankExchange exchange;
    double began;
  };

  void serve();
  bool advance_jobs();
  void fail(std::exception_ptr error);
  void wait_for_end();
  void check() const;

  Options options_;
  std::size_t rank_ = 0, ranks_ = 0, ranks_here_ = 0, rank_here_ = 0;
  std::unique_ptr<RankTransport> transport_;  // the thread's

  mutable std::mutex mutex_;
  std::condition_variable for_thread_, for_program_;
  // In the sequence in which they were begun. Guarded by mutex_, as all below.
  std::vector<std::shared_ptr<Work>> works_;
  std::shared_ptr<Gather> gather_;
  Seconds seconds_;
  std::exception_ptr error_;
  bool connected_ = false, left_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace skyline
