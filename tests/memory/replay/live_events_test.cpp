#include "memory/replay/live_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <unordered_map>

#include "memory/formats/csv/event_csv.h"
#include "memory/formats/csv/rmm_log.h"

namespace skyline {
namespace {

using testing::HasSubstr;

TEST(LiveBlocks, AgreeWithAMapOverARandomProgram) {
  constexpr unsigned kSeed = 20261120;
  std::mt19937 random(kSeed);
  LiveBlocks blocks;
  std::unordered_map<std::string, std::size_t> slots;
  for (int i = 0; i < 200'000; ++i) {
    // Few names, so that both calls succeed and fail.
    const std::string id = "block " + std::to_string(random() % 3000);
    if (random() % 2 == 0) {
      const auto slot = blocks.add({.id = id, .bytes = random() % 100}, i);
      ASSERT_EQ(slot.has_value(), !slots.contains(id)) << "seed " << kSeed << " at " << i;
      if (slot) slots[id] = *slot;
    } else {
      const auto slot = blocks.remove(id);
      ASSERT_EQ(slot.has_value(), slots.contains(id)) << "seed " << kSeed << " at " << i;
      if (!slot) continue;
      ASSERT_EQ(*slot, slots[id]);
      ASSERT_EQ(blocks.at(*slot).id, id) << "its facts stay";
      blocks.forget(*slot);
      slots.erase(id);
    }
    ASSERT_EQ(blocks.size(), slots.size());
  }
  for (const auto& [id, slot] : slots) {
    EXPECT_TRUE(blocks.at(slot).alive);
    EXPECT_EQ(blocks.at(slot).id, id);
  }
  EXPECT_LE(blocks.slots(), 3000u) << "slots are reused";
}

std::string live_refusal(const std::string& text) {
  std::istringstream in(text);
  try {
    EventCsvReader reader(in, "events.csv");
    LiveEvents events(reader);
    while (events.next()) {
    }
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LiveEvents, NamesIdsThatAreUsedAsTheyMayNot) {
  EXPECT_EQ(live_refusal("event,id,bytes\na,x,1\na,x,2\n"),
            "events.csv line 3, field id: got \"x\", which is alive, expected a new id");
  EXPECT_EQ(live_refusal("event,id,bytes\na,x,1\nf,y,\n"),
            "events.csv line 3, field id: got \"y\" to free, expected the id of a live block");
  EXPECT_THAT(live_refusal("event,id,bytes\nf,y,\n"), HasSubstr("to free"));
  EXPECT_THAT(live_refusal("event,id,bytes\na,x,1\nf,x,\nf,x,\n"), HasSubstr("line 4, field id"));
  EXPECT_EQ(live_refusal("event,id,bytes\na,x,1\nf,x,\na,x,2\n"), "accepted");
}

TEST(LiveEvents, CountsTicksAndSteps) {
  std::istringstream in("event,id,bytes\ns,,\na,x,1\na,y,2\ns,,\nf,x,\n");
  EventCsvReader reader(in, "events.csv");
  LiveEvents events(reader);
  ASSERT_TRUE(events.next());
  EXPECT_EQ(events.steps(), 1u);
  EXPECT_EQ(events.ticks(), 0);
  ASSERT_TRUE(events.next());
  EXPECT_EQ(events.tick(), 0);
  ASSERT_TRUE(events.next());
  EXPECT_EQ(events.tick(), 1);
  EXPECT_EQ(events.blocks().size(), 2u);
  ASSERT_TRUE(events.next() && events.next());
  EXPECT_EQ(events.tick(), 2) << "a step takes no tick";
  EXPECT_EQ(events.block().bytes, 1u) << "the freed block";
  EXPECT_EQ(events.blocks().size(), 1u);
  EXPECT_FALSE(events.next());
  EXPECT_EQ(events.ticks(), 3);
}

TEST(LiveEvents, LeavesOutFreesOfBlocksFromBeforeTheRecording) {
  std::istringstream in(
      "Thread,Time,Action,Pointer,Size,Stream\n1,0,free,0x1,8,0\n1,0,allocate,0x2,8,0\n"
      "1,0,free,0x2,8,0\n1,0,free,0x2,8,0\n");
  RmmLogReader reader(in, "rmm.csv");
  LiveEvents events(reader);
  while (events.next()) {
  }
  EXPECT_EQ(events.ticks(), 2);
  EXPECT_EQ(events.unknown_frees(), 2u);
}

}  // namespace
}  // namespace skyline
