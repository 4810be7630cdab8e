#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/ranks/rank_exchange.h"
#include "framework/ranks/rank_transport.h"

namespace skyline {

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
