// NetworkWise against an independent naive model of network_wise.h.
#include <gtest/gtest.h>

#include "memory/allocators/network_wise.h"
#include "tests/memory/allocators/naive_model.h"

namespace skyline {
namespace {

enum Use : int { kStep, kKept, kOneBlock };

class NaiveNetworkWise final : public NaiveModel {
 public:
  using NaiveModel::NaiveModel;
  void begin_step() override {
    request_ = 0;
    in_step_ = stepped_ = true;
  }
  void end_step() override { in_step_ = false; }
  void interrupt() override { ++interruptions_; }
  void resume() override { --interruptions_; }
  void release_cached() override {
    give_back([](const Piece&) { return true; });
  }

 private:
  std::optional<std::size_t> serve(std::uint64_t bytes) override {
    bytes = bytes == 0 ? 512 : (bytes + 511) / 512 * 512;
    if (!in_step_ || interruptions_ > 0) return one_block(bytes, stepped_ ? kOneBlock : kKept);
    if (request_ == slots_.size()) slots_.push_back(0);
    auto index = piece_at(slots_[request_]);
    const bool taken = index && !pieces_[*index].free;
    index = taken ? one_block(bytes, kOneBlock) : slot(bytes, index);
    if (index) ++request_;
    return index;
  }

  std::optional<std::size_t> piece_at(std::uint64_t address) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].address == address && pieces_[i].pool == kStep) return i;
    }
    return {};
  }

  std::optional<std::size_t> one_block(std::uint64_t bytes, Use use) {
    return take_segment(bytes, use);
  }

  std::optional<std::size_t> slot(std::uint64_t bytes, std::optional<std::size_t> index) {
    if (!index || pieces_[*index].bytes < bytes) {
      if (index) erase(*index);
      index = take_segment(bytes, kStep);
      if (!index) return {};
      slots_[request_] = pieces_[*index].address;
    }
    pieces_[*index].free = false;
    return index;
  }

  void erase(std::size_t index) {
    device_.give_back(pieces_[index].bytes);
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void freed(std::size_t index) override {
    if (pieces_[index].pool == kOneBlock) erase(index);
  }

  std::vector<std::uint64_t> slots_;  // the address of request k's slot, used before or not
  std::size_t request_ = 0;
  int interruptions_ = 0;
  bool in_step_ = false, stepped_ = false;
};

TEST(NetworkWiseModel, AgreesOnRandomTraces) {
  const Coverage coverage = compare_on_small_devices<NetworkWise, NaiveNetworkWise>();
  EXPECT_GT(coverage.device_full, random_traces() / 10);
  EXPECT_EQ(coverage.flushes, 0u);
  EXPECT_EQ(coverage.fragmented, 0u);
}

}  // namespace
}  // namespace skyline
