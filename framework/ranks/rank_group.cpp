#include "framework/ranks/rank_group.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "memory/now_seconds.h"

namespace skyline {
namespace {

constexpr std::size_t kMostFloats = std::size_t{1} << 26;  // of a message
constexpr std::size_t kPieceFloats = 1024;                 // floats that are added at a time
constexpr std::size_t kShareUnit = 64;                     // floats

std::size_t largest_share(std::size_t size, std::size_t ranks) {
  return (size + ranks - 1) / ranks;
}

constexpr int kHeartbeatTag = 0, kGatherTag = 1, kFirstWorkTag = 2;
constexpr double kHeartbeatSeconds = 1;
// How long the thread sleeps when nothing moved: longer and longer, because the cores have other
// work.
constexpr std::chrono::microseconds kShortSleep{20}, kLongSleep{1000};
constexpr std::chrono::milliseconds kIdleSleep{100};

// The launcher ends the other ranks once one has ended without a word. MPI_Abort would wait for it.
[[noreturn]] void end_all_ranks() { std::_Exit(1); }

}  // namespace

std::size_t size_of(const Pieces& pieces) {
  std::size_t size = 0;
  for (const std::span<float> piece : pieces) size += piece.size();
  return size;
}

Pieces cut(const Pieces& pieces, std::size_t first, std::size_t last) {
  Pieces result;
  std::size_t begin = 0;  // of the piece, in the sequence
  for (const std::span<float> piece : pieces) {
    const std::size_t end = begin + piece.size();
    for (std::size_t at = std::max(begin, first); at < std::min(end, last);) {
      const std::size_t stop = std::min({end, last, at + kMostFloats});
      result.push_back(piece.subspan(at - begin, stop - at));
      at = stop;
    }
    begin = end;
  }
  return result;
}

std::size_t share_begin(std::size_t size, std::size_t rank, std::size_t ranks) {
  return std::min(size, rank * largest_share(size, ranks));
}

bool OpenRequests::finished(RankTransport& transport) {
  std::erase_if(open_, [&](RankTransport::Request request) { return transport.done(request); });
  return open_.empty();
}

RankShare share_of_tensor(std::size_t size, const RankOf& place) {
  const std::size_t units = (size + kShareUnit - 1) / kShareUnit;
  const auto at = [&](std::size_t rank) {
    return std::min(size, share_begin(units, rank, place.ranks) * kShareUnit);
  };
  return {at(place.rank), at(place.rank + 1)};
}

std::size_t largest_share_of_tensor(std::size_t size, std::size_t ranks) {
  return std::max<std::size_t>(share_of_tensor(size, {.rank = 0, .ranks = ranks}).size(), 1);
}

std::size_t RankExchange::received_floats(RankWork work, std::span<const std::size_t> sizes,
                                          std::size_t ranks) {
  if (work != RankWork::kSum && work != RankWork::kSumShares) return 0;
  std::size_t all = 0, shares = 0;
  for (const std::size_t size : sizes) {
    all += size;
    shares += share_of_tensor(size, {.rank = 0, .ranks = ranks}).size();
  }
  return (ranks - 1) * (work == RankWork::kSum ? largest_share(all, ranks) : shares);
}

Pieces share_of(const RankValues& values, const RankOf& place) {
  if (values.work == RankWork::kSum) {
    const std::size_t size = size_of(values.tensors);
    return cut(values.tensors, share_begin(size, place.rank, place.ranks),
               share_begin(size, place.rank + 1, place.ranks));
  }
  Pieces shares;
  for (const std::span<float> tensor : values.tensors) {
    const RankShare share = share_of_tensor(tensor.size(), place);
    for (const std::span<float> piece : cut({tensor}, share.begin, share.end)) {
      shares.push_back(piece);
    }
  }
  return shares;
}

RankExchange::RankExchange(RankValues values, int tag) : values_(std::move(values)), tag_(tag) {}

bool RankExchange::advance(RankTransport& transport) {
  if (phase_ == Phase::kNew) begin(transport);
  if (!requests_.finished(transport)) return false;
  if (phase_ == Phase::kLast) return true;
  add(transport.rank(), transport.ranks());
  phase_ = Phase::kLast;
  if (values_.work == RankWork::kSum) gather(transport);
  return requests_.finished(transport);
}

void RankExchange::begin(RankTransport& transport) {
  switch (values_.work) {
    case RankWork::kSum:
    case RankWork::kSumShares:
      phase_ = Phase::kScatter;
      return scatter(transport);
    case RankWork::kGatherShares:
      phase_ = Phase::kLast;
      return gather(transport);
    case RankWork::kFastSum:
      phase_ = Phase::kLast;
      for (const std::span<float> piece : cut(values_.tensors, 0, size_of(values_.tensors))) {
        requests_.add(transport.sum(piece));
      }
  }
}

void RankExchange::scatter(RankTransport& transport) {
  const Pieces own = share_of(values_, {.rank = transport.rank(), .ranks = transport.ranks()});
  std::size_t received = 0;
  for (std::size_t other = 0; other < transport.ranks(); ++other) {
    if (other == transport.rank()) continue;
    for (const std::span<float> piece : own) {
      const std::span<float> to = values_.received.subspan(received, piece.size());
      requests_.add(transport.receive(other, tag_, std::as_writable_bytes(to)));
      received += piece.size();
    }
    for (const std::span<float> piece :
         share_of(values_, {.rank = other, .ranks = transport.ranks()})) {
      requests_.add(transport.send(other, tag_, std::as_bytes(piece)));
    }
  }
}

// Adds in blocks that stay in the cache, because the sum takes the place of this rank's values.
void RankExchange::add(std::size_t rank, std::size_t ranks) {
  const Pieces own = share_of(values_, {.rank = rank, .ranks = ranks});
  const std::size_t size = size_of(own);
  std::array<float, kPieceFloats> sum;
  std::size_t done = 0;  // elements of the share
  for (const std::span<float> piece : own) {
    for (std::size_t at = 0; at < piece.size(); at += kPieceFloats) {
      const std::size_t count = std::min(kPieceFloats, piece.size() - at);
      for (std::size_t other = 0; other < ranks; ++other) {
        const std::size_t place = other < rank ? other : other - 1;
        const float* addend =
            other == rank ? piece.data() + at : values_.received.data() + place * size + done + at;
        if (other == 0) {
          std::copy_n(addend, count, sum.data());
        } else {
          for (std::size_t i = 0; i < count; ++i) sum[i] += addend[i];
        }
      }
      std::copy_n(sum.data(), count, piece.data() + at);
    }
    done += piece.size();
  }
}

void RankExchange::gather(RankTransport& transport) {
  const Pieces own = share_of(values_, {.rank = transport.rank(), .ranks = transport.ranks()});
  for (std::size_t other = 0; other < transport.ranks(); ++other) {
    if (other == transport.rank()) continue;
    for (const std::span<float> piece : own) {
      requests_.add(transport.send(other, tag_, std::as_bytes(piece)));
    }
    for (const std::span<float> piece :
         share_of(values_, {.rank = other, .ranks = transport.ranks()})) {
      requests_.add(transport.receive(other, tag_, std::as_writable_bytes(piece)));
    }
  }
}

// Every rank's bytes: first their number, then they themselves.
struct RankGroup::Gather {
  std::vector<std::string> bytes;  // by rank
  std::vector<std::uint64_t> sizes;
  enum class Phase { kNew, kSizes, kBytes } phase = Phase::kNew;
  OpenRequests requests;
  bool done = false;

  bool advance(RankTransport& transport) {
    if (phase == Phase::kNew) exchange_sizes(transport);
    if (!requests.finished(transport)) return false;
    if (phase == Phase::kSizes) exchange_bytes(transport);
    return requests.finished(transport);
  }

  void exchange_sizes(RankTransport& transport) {
    phase = Phase::kSizes;
    sizes.resize(transport.ranks());
    const std::size_t own = transport.rank();
    sizes[own] = bytes[own].size();
    for (std::size_t other = 0; other < sizes.size(); ++other) {
      if (other == own) continue;
      requests.add(transport.send(other, kGatherTag, std::as_bytes(std::span(&sizes[own], 1))));
      requests.add(transport.receive(other, kGatherTag,
                                     std::as_writable_bytes(std::span(&sizes[other], 1))));
    }
  }

  void exchange_bytes(RankTransport& transport) {
    phase = Phase::kBytes;
    const std::size_t own = transport.rank();
    for (std::size_t other = 0; other < sizes.size(); ++other) {
      if (other == own) continue;
      bytes[other].resize(sizes[other]);
      if (sizes[own] > 0) {
        requests.add(transport.send(other, kGatherTag, std::as_bytes(std::span(bytes[own]))));
      }
      if (sizes[other] > 0) {
        requests.add(
            transport.receive(other, kGatherTag, std::as_writable_bytes(std::span(bytes[other]))));
      }
    }
  }
};

// A ring: each rank hears the one before it.
struct RankGroup::Heartbeat {
  RankTransport& transport;
  std::size_t before = (transport.rank() + transport.ranks() - 1) % transport.ranks();
  std::size_t after = (transport.rank() + 1) % transport.ranks();
  std::array<std::byte, 1> sent{}, received{};
  OpenRequests sending, receiving;
  double sent_at = 0, heard_at = now_seconds();

  Heartbeat(RankTransport& of) : transport(of) { listen(); }

  void listen() { receiving.add(transport.receive(before, kHeartbeatTag, received)); }

  // Returns for how long the rank before was silent.
  double beat() {
    const double now = now_seconds();
    if (receiving.finished(transport)) {
      heard_at = now;
      listen();
    }
    if (sending.finished(transport) && now - sent_at >= kHeartbeatSeconds) {
      sending.add(transport.send(after, kHeartbeatTag, sent));
      sent_at = now;
    }
    return now - heard_at;
  }
};

RankGroup::RankGroup(Options options) : options_(std::move(options)) {
  thread_ = std::thread([this] { serve(); });
  std::unique_lock lock(mutex_);
  for_program_.wait(lock, [this] { return connected_ || error_; });
  if (!error_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(error_);
}

RankGroup::~RankGroup() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  for_thread_.notify_one();
  thread_.join();
}

std::vector<std::string> RankGroup::gather(std::string bytes) {
  const double began = now_seconds();
  auto gather = std::make_shared<Gather>();
  gather->bytes.resize(ranks_);
  gather->bytes[rank_] = std::move(bytes);
  std::unique_lock lock(mutex_);
  check();
  gather_ = gather;
  for_thread_.notify_one();
  for_program_.wait(lock, [&] { return gather->done || error_; });
  check();
  seconds_.gathering += now_seconds() - began;
  return std::move(gather->bytes);
}

std::string RankGroup::broadcast(std::string bytes) {
  if (rank_ != 0) bytes.clear();
  return std::move(gather(std::move(bytes)).front());
}

void RankGroup::leave() {
  gather({});
  const std::lock_guard lock(mutex_);
  left_ = true;
}

void RankGroup::begin(int number, RankValues values) {
  const std::lock_guard lock(mutex_);
  check();
  works_.push_back(std::make_shared<Work>(
      number, RankExchange(std::move(values), kFirstWorkTag + number), now_seconds()));
  for_thread_.notify_one();
}

void RankGroup::wait(int number) {
  const double began = now_seconds();
  const auto is_it = [&](const auto& work) { return work->number == number; };
  std::unique_lock lock(mutex_);
  const auto done = [&] { return std::ranges::none_of(works_, is_it); };
  for_program_.wait(lock, [&] { return done() || error_; });
  check();
  seconds_.waiting += now_seconds() - began;
}

RankGroup::Seconds RankGroup::seconds() const {
  const std::lock_guard lock(mutex_);
  return seconds_;
}

void RankGroup::check() const {
  if (error_) std::rethrow_exception(error_);
}

void RankGroup::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  for_program_.notify_all();
}

void RankGroup::serve() {
  try {
    transport_ = options_.connect();
    rank_ = transport_->rank();
    ranks_ = transport_->ranks();
    ranks_here_ = transport_->ranks_here();
    rank_here_ = transport_->rank_here();
    {
      const std::lock_guard lock(mutex_);
      connected_ = true;
    }
    for_program_.notify_all();
    std::optional<Heartbeat> heartbeat;
    if (ranks_ > 1) heartbeat.emplace(*transport_);
    std::chrono::microseconds sleep = kShortSleep;
    while (true) {
      const bool moved = advance_jobs();
      const double silence = heartbeat ? heartbeat->beat() : 0;
      std::unique_lock lock(mutex_);
      if (stop_) break;
      if (silence > options_.silence_seconds && !left_) {
        options_.on_silence(heartbeat->before);
        end_all_ranks();
      }
      const bool idle = works_.empty() && !gather_;
      sleep = moved ? kShortSleep : std::min(2 * sleep, kLongSleep);
      for_thread_.wait_for(lock, idle ? kIdleSleep : sleep);
    }
  } catch (...) {
    fail(std::current_exception());
    if (transport_) wait_for_end();
  }
  if (!transport_) return;
  const bool left = [this] {
    const std::lock_guard lock(mutex_);
    return left_ && !error_;
  }();
  if (!left) end_all_ranks();
  transport_.reset();
}

// The program gets the error and says it before the group ends.
void RankGroup::wait_for_end() {
  std::unique_lock lock(mutex_);
  for_thread_.wait(lock, [this] { return stop_; });
}

// Returns true if a job is done.
bool RankGroup::advance_jobs() {
  std::unique_lock lock(mutex_);
  const auto gather = gather_;
  const auto works = works_;
  lock.unlock();
  bool moved = false;
  if (gather && gather->advance(*transport_)) {
    lock.lock();
    gather->done = true;
    gather_.reset();
    lock.unlock();
    moved = true;
  }
  for (const auto& work : works) {
    if (!work->exchange.advance(*transport_)) continue;
    lock.lock();
    std::erase(works_, work);
    seconds_.working += now_seconds() - work->began;
    lock.unlock();
    moved = true;
  }
  if (moved) for_program_.notify_all();
  return moved;
}

}  // namespace skyline
