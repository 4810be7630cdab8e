#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <tuple>
#include <vector>

#include "framework/ranks/rank_transport.h"

namespace skyline {

// The messages of LocalTransports meet here.
class LocalHub {
 public:
  explicit LocalHub(std::size_t count) : ranks(count) {}

  struct Message {
    std::span<const std::byte> sent;
    std::span<std::byte> received;
    bool has_sender = false, has_receiver = false, done = false;
  };
  using Channel = std::tuple<std::size_t, std::size_t, int>;  // from, to, tag

  // Returns the first message of the channel without a sender or without a receiver.
  std::shared_ptr<Message> message(const Channel& channel, bool Message::*has_party);

  // The values of a fast sum, by rank.
  struct Sum {
    std::map<std::size_t, std::span<float>> values;
    std::size_t left = 0;  // ranks that were told that it is done
  };

  const std::size_t ranks;
  std::mutex mutex;
  std::map<Channel, std::deque<std::shared_ptr<Message>>> channels;  // guarded by mutex
  std::map<std::size_t, Sum> sums;                                   // by number; guarded by mutex
};

// Ranks that are threads of one process. A message is copied only once a receiver asks for it, so
// that a sender who changes it too early is found, and a message may seem late at random.
class LocalTransport final : public RankTransport {
 public:
  LocalTransport(LocalHub& hub, std::size_t rank) : hub_(hub), rank_(rank), random_(rank) {}

  std::size_t rank() const noexcept override { return rank_; }
  std::size_t ranks() const noexcept override { return hub_.ranks; }
  std::size_t ranks_here() const noexcept override { return hub_.ranks; }
  std::size_t rank_here() const noexcept override { return rank_; }
  Request send(std::size_t to, int tag, std::span<const std::byte> bytes) override;
  Request receive(std::size_t from, int tag, std::span<std::byte> bytes) override;
  Request sum(std::span<float> values) override;
  bool done(Request request) override;

 private:
  bool sum_done(std::size_t number);

  LocalHub& hub_;
  std::size_t rank_;
  std::minstd_rand random_;
  Request last_ = 0;
  std::map<Request, std::shared_ptr<LocalHub::Message>> open_;
  std::map<Request, std::size_t> open_sums_;  // their numbers
  std::size_t sums_ = 0;
};

}  // namespace skyline
