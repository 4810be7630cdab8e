#include "tests/cuda_emulation/nccl/links.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace cuda_emulation {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("[emulated NCCL] " + what);
}

int most_milliseconds() {
  const char* const seconds = std::getenv("SKYLINE_NCCL_SECONDS");
  return 1000 * (seconds != nullptr ? std::atoi(seconds) : 60);
}

// An address that no file has.
sockaddr_un address_of(const std::string& name, int rank) {
  const std::string path = "skyline-nccl-" + name + "-" + std::to_string(rank);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, path.data(), path.size());
  return address;
}

int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

int listen_at(const sockaddr_un& address) {
  const int listener = new_socket();
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0) {
    fail("two processes are one rank");
  }
  return listener;
}

// Tries until the other process listens.
int connect_to(const sockaddr_un& address) {
  const int most = most_milliseconds();
  for (int waited = 0; waited < most; ++waited) {
    const int connected = new_socket();
    if (connect(connected, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return connected;
    }
    close(connected);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fail("a rank does not join");
}

}  // namespace

// A rank connects to all before it, which accept it.
Links::Links(const std::string& name, int rank, int ranks)
    : rank_(rank), peers_(static_cast<std::size_t>(ranks)) {
  const int listener = listen_at(address_of(name, rank));
  for (int other = 0; other < rank; ++other) {
    const int connected = connect_to(address_of(name, other));
    if (write(connected, &rank, sizeof rank) != sizeof rank) fail("a rank does not join");
    peers_[static_cast<std::size_t>(other)].socket = connected;
  }
  for (int other = rank + 1; other < ranks; ++other) {
    const int accepted = accept(listener);
    int from = 0;
    if (read(accepted, &from, sizeof from) != sizeof from) fail("a rank does not join");
    peers_.at(static_cast<std::size_t>(from)).socket = accepted;
  }
  close(listener);
}

Links::~Links() { abort(); }

int Links::accept(int listener) {
  pollfd waiting = {.fd = listener, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, most_milliseconds()) != 1) fail("a rank does not join");
  return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
}

void Links::abort() {
  aborted_ = true;
  for (Peer& peer : peers_) {
    if (peer.socket >= 0) close(peer.socket);
    peer.socket = -1;
  }
}

void Links::exchange(std::span<const Transfer> transfers) try {
  if (aborted_) return;
  for (const Transfer& transfer : transfers) {
    Peer& peer = peers_[static_cast<std::size_t>(transfer.peer)];
    (transfer.sends ? peer.sends : peer.receives).push_back(transfer);
    if (!transfer.sends) listen_to(transfer.peer, transfer);
  }
  while (true) {
    bool done = true;
    for (int other = 0; other < ranks(); ++other) {
      send_what_is_awaited(other);
      const Peer& peer = peers_[static_cast<std::size_t>(other)];
      done = done && peer.sends.empty() && peer.receives.empty() && peer.out.empty();
    }
    if (done) return;
    move_bytes();
  }
} catch (const std::exception&) {
  failed_ = true;
  throw;
}

void Links::listen_to(int rank, const Transfer& receive) {
  const Header header{.data = false, .type = receive.type, .bytes = receive.bytes};
  std::vector<std::byte>& out = peers_[static_cast<std::size_t>(rank)].out;
  const auto* const first = reinterpret_cast<const std::byte*>(&header);
  out.insert(out.end(), first, first + sizeof header);
}

void Links::send_what_is_awaited(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  while (!peer.begun.empty() && !peer.sends.empty()) {
    const Header awaited = peer.begun.front();
    const Transfer send = peer.sends.front();
    if (awaited.bytes != send.bytes || awaited.type != send.type) {
      throw std::logic_error("[emulated NCCL] rank " + std::to_string(rank_) + " sends " +
                             std::to_string(send.bytes) + " bytes of type " +
                             std::to_string(send.type) + ", rank " + std::to_string(rank) +
                             " receives " + std::to_string(awaited.bytes) + " of type " +
                             std::to_string(awaited.type));
    }
    const Header header{.data = true, .type = send.type, .bytes = send.bytes};
    const auto* const first = reinterpret_cast<const std::byte*>(&header);
    peer.out.insert(peer.out.end(), first, first + sizeof header);
    peer.out.insert(peer.out.end(), send.address, send.address + send.bytes);
    peer.begun.pop_front();
    peer.sends.pop_front();
  }
}

// Reads what has come from a peer completely.
void Links::take(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  std::size_t at = 0;
  while (peer.in.size() - at >= sizeof(Header)) {
    Header header;
    std::memcpy(&header, peer.in.data() + at, sizeof header);
    const std::size_t bytes = sizeof header + (header.data ? header.bytes : 0);
    if (peer.in.size() - at < bytes) break;
    if (header.data) {
      std::memcpy(peer.receives.front().address, peer.in.data() + at + sizeof header, header.bytes);
      peer.receives.pop_front();
    } else {
      peer.begun.push_back(header);
    }
    at += bytes;
  }
  peer.in.erase(peer.in.begin(), peer.in.begin() + static_cast<std::ptrdiff_t>(at));
}

// Writes and reads what the sockets take and have.
void Links::move_bytes() {
  std::vector<pollfd> sockets;
  for (const Peer& peer : peers_) {
    if (peer.socket < 0 && !(peer.sends.empty() && peer.receives.empty())) {
      fail("rank " + std::to_string(sockets.size()) + " is gone");
    }
    const int events = peer.out.empty() ? POLLIN : POLLIN | POLLOUT;
    sockets.push_back({.fd = peer.socket, .events = static_cast<short>(events), .revents = 0});
  }
  if (poll(sockets.data(), sockets.size(), most_milliseconds()) <= 0) {
    fail("rank " + std::to_string(rank_) + " waits for a send or receive that does not come");
  }
  for (int other = 0; other < ranks(); ++other) {
    Peer& peer = peers_[static_cast<std::size_t>(other)];
    const short ready = sockets[static_cast<std::size_t>(other)].revents;
    if ((ready & POLLOUT) != 0) {
      const ssize_t sent =
          send(peer.socket, peer.out.data(), peer.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) peer.out.erase(peer.out.begin(), peer.out.begin() + sent);
    }
    if ((ready & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    std::array<std::byte, 1 << 16> bytes;
    const ssize_t received = recv(peer.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0) {
      peer.in.insert(peer.in.end(), bytes.begin(), bytes.begin() + received);
      take(other);
    } else if (received == 0 || errno != EAGAIN) {  // it may have ended after its last exchange
      close(std::exchange(peer.socket, -1));
    }
  }
}

}  // namespace cuda_emulation
