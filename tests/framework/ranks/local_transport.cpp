#include "tests/framework/ranks/local_transport.h"

#include <algorithm>
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

bool LocalTransport::done(Request request) {
  const std::lock_guard lock(hub_.mutex);
  if (random_() % 4 == 0) return false;
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
