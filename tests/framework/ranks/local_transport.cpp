#include "tests/framework/ranks/local_transport.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace skyline {

std::shared_ptr<LocalHub::Message> LocalHub::message(const Channel& channel,
                                                     bool Message::*has_party) {
  auto& messages = channels[channel];
  std::erase_if(messages, [](const auto& message) { return message->done; });
  for (const auto& message : messages) {
    if (!((*message).*has_party)) return message;
  }
  return messages.emplace_back(std::make_shared<Message>());
}

RankTransport::Request LocalTransport::send(std::size_t to, int tag,
                                            std::span<const std::byte> bytes) {
  const std::lock_guard lock(hub_.mutex);
  const auto message = hub_.message({rank_, to, tag}, &LocalHub::Message::has_sender);
  message->sent = bytes;
  message->has_sender = true;
  open_[++last_] = message;
  return last_;
}

RankTransport::Request LocalTransport::receive(std::size_t from, int tag,
                                               std::span<std::byte> bytes) {
  const std::lock_guard lock(hub_.mutex);
  const auto message = hub_.message({from, rank_, tag}, &LocalHub::Message::has_receiver);
  message->received = bytes;
  message->has_receiver = true;
  open_[++last_] = message;
  return last_;
}

RankTransport::Request LocalTransport::sum(std::span<float> values) {
  const std::lock_guard lock(hub_.mutex);
  hub_.sums[sums_].values[rank_] = values;
  open_sums_[++last_] = sums_++;
  return last_;
}

// The last rank adds, from the last rank to the first: not in the order of ranks.
bool LocalTransport::sum_done(std::size_t number) {
  LocalHub::Sum& sum = hub_.sums.at(number);
  if (sum.values.size() < hub_.ranks) return false;
  if (sum.left == 0) {
    const std::span<float> total = sum.values.rbegin()->second;
    for (auto values = std::next(sum.values.rbegin()); values != sum.values.rend(); ++values) {
      if (values->second.size() != total.size()) throw std::logic_error("another size");
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += values->second[i];
    }
    for (const auto& [rank, values] : sum.values) {
      if (values.data() != total.data()) std::ranges::copy(total, values.begin());
    }
  }
  if (++sum.left == hub_.ranks) hub_.sums.erase(number);
  return true;
}

bool LocalTransport::done(Request request) {
  const std::lock_guard lock(hub_.mutex);
  if (random_() % 4 == 0) return false;
  if (const auto sum = open_sums_.find(request); sum != open_sums_.end()) {
    if (!sum_done(sum->second)) return false;
    open_sums_.erase(sum);
    return true;
  }
  LocalHub::Message& message = *open_.at(request);
  if (!message.done && message.has_sender && message.has_receiver) {
    if (message.sent.size() != message.received.size()) throw std::logic_error("another size");
    std::ranges::copy(message.sent, message.received.begin());
    message.done = true;
  }
  const bool done = message.done;
  if (done) open_.erase(request);
  return done;
}

}  // namespace skyline
