#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace cuda_emulation {

// A send to a peer, or a receive from it.
struct Transfer {
  bool sends = false;
  int peer = 0;
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  int type = 0;
};

// Sockets from one process to the others of a communicator, on one machine. A send moves bytes only
// once its receive has begun, so sends and receives that wait for each other are found: they take
// longer than SKYLINE_NCCL_SECONDS (default 60). Throws std::runtime_error.
class Links {
 public:
  // Returns once all ranks have called it with the same name.
  Links(const std::string& name, int rank, int ranks);
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(peers_.size()); }
  bool failed() const { return failed_; }
  // Transfers all at once; those with one peer in their sequence. Throws std::logic_error if a send
  // and its receive differ.
  void exchange(std::span<const Transfer> transfers);
  // Later exchanges do nothing.
  void abort();

 private:
  struct Header {
    bool data;  // follows; else the receive has begun
    int type;
    std::size_t bytes;
  };
  struct Peer {
    int socket = -1;
    std::deque<Transfer> sends, receives;  // that have not ended
    std::deque<Header> begun;              // receives of the peer
    std::vector<std::byte> out, in;
  };

  int accept(int listener);
  void listen_to(int rank, const Transfer& receive);
  void send_what_is_awaited(int rank);
  void take(int rank);
  void move_bytes();

  int rank_;
  std::vector<Peer> peers_;  // by rank
  bool failed_ = false, aborted_ = false;
};

}  // namespace cuda_emulation
