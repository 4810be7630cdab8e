// Recordings of programs with several streams, private pools and settings, and files that are no
// recording.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/memory/formats/pytorch/snapshot_text.h"
#include "tests/memory/units.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/parsed_json.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;

class ReplayRecordings : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  Outcome replay(const std::string& text, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"replay", file("recording", text)});
    return skyline_program(arguments);
  }
  nlohmann::json figures(const std::string& text, std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.begin(), {"--allocator", "caching", "--json"});
    const Outcome outcome = replay(text, arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    return outcome.json();
  }
  void expect_refused(const Outcome& outcome, const std::string& sentence) const {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.messages, HasSubstr(sentence));
    for (const char c : outcome.messages) EXPECT_TRUE(c == '\n' || (c >= ' ' && c != '\x7f')) << c;
  }

  TemporaryFolder folder_;
};

// --- streams and private pools ---

// Each of `count` streams requests and frees two blocks of 100 MiB.
std::string events_on_streams(int count) {
  std::string text = "event,id,bytes,stream\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format("a,{0}x,104857600,s{0}\na,{0}y,104857600,s{0}\nf,{0}x,,\nf,{0}y,,\n", i);
  }
  return text;
}

TEST_F(ReplayRecordings, CachingKeepsTheBlocksOfAStreamForIt) {
  const auto json = figures(events_on_streams(8));
  EXPECT_EQ(json["peak_reserved"], 1600 * kMiB);
  EXPECT_EQ(json["streams"], 8);
  EXPECT_EQ(json["private_pools"], 0);
  EXPECT_EQ(figures(events_on_streams(1))["peak_reserved"], 200 * kMiB);
}

TEST_F(ReplayRecordings, OneLineSaysWhoMergesStreams) {
  const Outcome several = replay(events_on_streams(3), {"--plan-limit", "0"});
  EXPECT_THAT(several.messages,
              HasSubstr("the recording has 3 streams and 0 private pools; merged by network-wise, "
                        "exact-pool, best-fit-pool, bfc, stitched, planned\n"));
  EXPECT_EQ(replay(events_on_streams(3), {"--plan-limit", "0", "--allocator", "caching"}).messages,
            "");
  EXPECT_THAT(replay(events_on_streams(3), {"--allocator", "caching"}).messages,
              HasSubstr("merged by the plan"));
  EXPECT_EQ(replay(events_on_streams(1), {}).messages, "");
}

TEST_F(ReplayRecordings, RmmsStreamsAreKeptAndWrittenAgain) {
  const std::string log =
      "Thread,Time,Action,Pointer,Size,Stream\n"
      "1,1,allocate,0x100,2097152, 0x1\n1,1,free,0x100,2097152,0x1\n"
      "1,1,allocate,0x900,2097152,0x2\n1,1,free,0x900,2097152,0x2\n"
      "1,1,allocate,0x100,2097152,0x1\n1,1,free,0x100,2097152,0x1\n";
  const std::string events = folder_ / "events.csv", rmm = folder_ / "rmm.csv";
  EXPECT_EQ(figures(log, {"--write-events", events, "--write-rmm", rmm})["peak_reserved"],
            40 * kMiB);
  EXPECT_EQ(figures(read_file(events))["peak_reserved"], 40 * kMiB);
  EXPECT_EQ(figures(read_file(rmm))["peak_reserved"], 40 * kMiB);
}

std::string snapshot_of(const SnapshotText::MoreOfEntry& first,
                        const SnapshotText::MoreOfEntry& second) {
  SnapshotText text;
  text.begin()
      .entry("alloc", 4096, 20 << 20, first)
      .entry("free_requested", 4096, 20 << 20, first)
      .entry("free_completed", 4096, 20 << 20, first)
      .entry("alloc", 1 << 30, 20 << 20, second);
  return text.end();
}

TEST_F(ReplayRecordings, SnapshotsHaveStreamsAndPrivatePools) {
  EXPECT_EQ(figures(snapshot_of({.stream = 0}, {.stream = 7}))["peak_reserved"], 40 * kMiB);
  EXPECT_EQ(figures(snapshot_of({.stream = 7}, {.stream = 7}))["peak_reserved"], 20 * kMiB);
  const std::string pools = snapshot_of({.stream = 0, .pool = {{0, 1}}}, {.stream = 0});
  EXPECT_EQ(figures(pools)["peak_reserved"], 40 * kMiB);
  EXPECT_EQ(figures(pools)["private_pools"], 1);
  EXPECT_EQ(figures(pools, {"--write-events", folder_ / "x"})["peak_reserved"], 40 * kMiB);
  EXPECT_EQ(figures(read_file(folder_ / "x"))["peak_reserved"], 40 * kMiB);
}

// --- settings and returns ---

SnapshotText growing_snapshot() {
  SnapshotText text;
  text.begin().entry("alloc", 4096, 4 << 20).entry("alloc", 1 << 30, 30 << 20);
  return text;
}

TEST_F(ReplayRecordings, CachingHasTheSettingsOfTheRecording) {
  EXPECT_EQ(figures(growing_snapshot().end())["peak_reserved"], 50 * kMiB);
  const std::string expandable = growing_snapshot().settings("expandable_segments", "\x88").end();
  EXPECT_EQ(figures(expandable)["peak_reserved"], 40 * kMiB);
  EXPECT_EQ(figures(expandable)["recorded_settings"], "expandable_segments true");
  EXPECT_THAT(replay(expandable, {"--allocator", "caching"}).output,
              HasSubstr("caching has the recording's settings: expandable_segments true\n"));
  EXPECT_THAT(replay(expandable, {"--allocator", "bfc"}).output, Not(HasSubstr("settings")));
  EXPECT_EQ(figures(expandable, {"--no-recorded-settings"})["peak_reserved"], 50 * kMiB);
  EXPECT_THAT(replay(expandable, {"--no-recorded-settings"}).output, Not(HasSubstr("settings")));
}

TEST_F(ReplayRecordings, FlagsOverrideTheSettingsOfTheRecording) {
  const std::string divided =
      growing_snapshot().settings("roundup_power2_divisions", SnapshotText::integer(2)).end();
  EXPECT_EQ(figures(divided)["peak_allocated"], (4 + 32) * kMiB);
  EXPECT_EQ(figures(divided)["recorded_settings"], "roundup_power2_divisions 2");
  const auto flag = figures(divided, {"--roundup-power2-divisions", "[1:1,16:8]"});
  EXPECT_EQ(flag["peak_allocated"], (4 + 30) * kMiB);
  const std::string collected =
      growing_snapshot()
          .settings("garbage_collection_threshold", SnapshotText::real(0.5))
          .settings("max_split_size", SnapshotText::integer(64 << 20))
          .end();
  EXPECT_EQ(figures(collected)["recorded_settings"],
            "max_split_size 67108864, garbage_collection_threshold 0.5 (of no effect without "
            "--capacity)");
  EXPECT_EQ(
      figures(collected, {"--capacity", "1GiB", "--max-split-size", "32MiB"})["recorded_settings"],
      "garbage_collection_threshold 0.5");
}

TEST_F(ReplayRecordings, AThresholdWithoutACapacityIsWrongUsage) {
  const std::string events = events_on_streams(1);
  expect_refused(
      replay(events, {"--allocator", "caching", "--garbage-collection-threshold", "0.5"}),
      "--garbage-collection-threshold is a part of the capacity: give --capacity");
  EXPECT_EQ(replay(events, {"--allocator", "caching", "--garbage-collection-threshold", "0.5",
                            "--capacity", "1GiB"})
                .exit_code,
            0);
}

TEST_F(ReplayRecordings, CachedMemoryIsReturnedWhereTheRecordingDoes) {
  const std::string events = "event,id,bytes\na,x,20971520\nf,x,\nc,,\na,y,31457280\n";
  const auto json = figures(events);
  EXPECT_EQ(json["peak_reserved"], 30 * kMiB);
  EXPECT_EQ(json["returns_of_cached_memory"], 1);
  EXPECT_EQ(json["flushes"], 0) << "nothing was refused";
  EXPECT_THAT(replay(events, {}).output, HasSubstr(", 1 returns of cached memory\n"));
}

// --- refusals ---

// A block of 110 MiB is freed and its segment then cut by small ones, on a device of 160 MiB.
std::string cut_segment() {
  std::string text = "event,id,bytes\na,big,115343360\nf,big,\n";
  for (int i = 0; i < 10; ++i) text += fmt::format("a,s{},1572864\n", i);
  return text + "a,again,115343360\n";
}

TEST_F(ReplayRecordings, FreeBytesOfTheDeviceAndOfThePoolCountTogether) {
  const std::vector<std::string> arguments = {"--allocator", "caching", "--capacity", "160MiB"};
  const Outcome outcome = replay(cut_segment(), arguments);
  EXPECT_THAT(outcome.output, HasSubstr("(free memory is fragmented): requested 115343360 bytes"));
  EXPECT_THAT(outcome.output, HasSubstr("free of the device 52428800"));
  EXPECT_THAT(
      outcome.output,
      HasSubstr("nothing is refused with --expandable-segments, or --max-split-size 32MiB"));
  const auto json = figures(cut_segment(), {"--capacity", "160MiB"});
  EXPECT_EQ(json["out_of_memory_reports"][0]["device_free"], 50 * kMiB);
  ASSERT_GE(json["fits_with"].size(), 2u);
  for (const nlohmann::json& option : json["fits_with"]) {
    auto cured = arguments;
    const std::string words = option.get<std::string>();
    cured.push_back(words.substr(0, words.find(' ')));
    if (words.find(' ') != words.npos) cured.push_back(words.substr(words.find(' ') + 1));
    cured.push_back("--strict");
    EXPECT_EQ(replay(cut_segment(), cured).exit_code, 0) << words;
  }
}

TEST_F(ReplayRecordings, NoCureIsNamedWhereNoneHelps) {
  const std::string events = "event,id,bytes\na,x,209715200\n";
  const Outcome outcome = replay(events, {"--allocator", "caching", "--capacity", "100MiB"});
  EXPECT_THAT(outcome.output, HasSubstr("(the device is full)"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("nothing is refused with")));
  EXPECT_TRUE(figures(events, {"--capacity", "100MiB"})["fits_with"].empty());
}

TEST_F(ReplayRecordings, ARequestSmallerThanItsSegmentIsToldSo) {
  EXPECT_THAT(
      replay("event,id,bytes\na,x,5242880\n", {"--allocator", "caching", "--capacity", "16MiB"})
          .output,
      HasSubstr("(too little is free for a whole segment): requested 5242880"));
}

TEST_F(ReplayRecordings, NamesThatAreNotUtf8AreReadAndShownWithoutRawBytes) {
  const Outcome outcome = replay("event,id,bytes,tag\na,Caf\xe9,1000,\xe9\na,\x1bz,90000000,b\n",
                                 {"--allocator", "caching", "--capacity", "50MiB"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("block ?z asks for"));
  EXPECT_THAT(outcome.output, HasSubstr("Caf?, ?"));
}

// --- bounds ---

TEST_F(ReplayRecordings, NobodyIsBelowTheBoundOfItsUnit) {
  const std::string events = "event,id,bytes\na,\"x,1\",5\na,z,0\nf,z,\nf,\"x,1\",\n";
  const Outcome outcome = replay(events, {});
  EXPECT_THAT(outcome.output, Not(HasSubstr(" -")));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\nexact-pool +512 B +\\+100.0 %"));
  const auto json = replay(events, {"--json"}).json();
  for (const auto& [name, row] : json["allocators"].items()) {
    EXPECT_GE(row["peak_reserved"], row["lower_bound_in_its_unit"]) << name;
  }
  EXPECT_EQ(json["allocators"]["exact-pool"]["lower_bound_in_its_unit"], 256);
  EXPECT_EQ(json["lower_bound"], 512);
  EXPECT_THAT(replay(events, {"--csv"}).output,
              testing::ContainsRegex("exact-pool,5,512,512,[^\n]*,256\n"));
}

TEST_F(ReplayRecordings, CachingAndBfcReserveNothingForNoBytes) {
  const std::string events = "event,id,bytes\na,x,0\na,y,0\nf,x,\nf,y,\n";
  const auto json = replay(events, {"--json"}).json();
  EXPECT_EQ(json["allocators"]["caching"]["peak_reserved"], 0);
  EXPECT_EQ(json["allocators"]["bfc"]["peak_reserved"], 0);
  EXPECT_EQ(json["lower_bound"], 0);
  EXPECT_EQ(json["allocators"]["caching"]["out_of_memory"], 0);
}

// --- files ---

// A gzip file of one stored block (RFC 1951 and 1952).
std::string gzip(const std::string& text) {
  const auto number = [](std::uint32_t value, int bytes) {
    std::string digits;
    for (int i = 0; i < bytes; ++i) digits += static_cast<char>(value >> 8 * i);
    return digits;
  };
  std::uint32_t crc = 0xffffffff;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc % 2 == 1 ? 0xedb88320u : 0u);
  }
  const auto size = static_cast<std::uint32_t>(text.size());
  return std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + '\x01' + number(size, 2) +
         number(~size, 2) + text + number(~crc, 4) + number(size, 4);
}

TEST_F(ReplayRecordings, ReadsGzippedFiles) {
  EXPECT_EQ(figures(gzip(events_on_streams(2)))["peak_reserved"], 400 * kMiB);
  EXPECT_EQ(figures(gzip(growing_snapshot().end()))["peak_reserved"], 50 * kMiB);
  std::string damaged = gzip(events_on_streams(2));
  damaged[damaged.size() - 6] ^= 1;
  expect_refused(replay(damaged, {}), "corrupt gzip data");
  expect_refused(replay(gzip(events_on_streams(2)).substr(0, 60), {}), "gzip data end early");
}

TEST_F(ReplayRecordings, FilesThatAreNoRecordingAreNamed) {
  const std::vector<std::pair<std::string, std::string>> named = {
      {"(dp0\nS'segments'\np1\n(lp2\ns.", "is a pickle of protocol 0, expected 2 to 5"},
      {"(lp0\n.", "is a pickle of protocol 0"},
      {std::string("}q\0(X\x08\0\0\0segments", 17), "is a pickle of protocol 1, expected 2 to 5"},
      {std::string("\xff\xfe"
                   "e\0v\0e\0n\0t\0",
                   12),
       "is UTF-16; convert it to UTF-8"},
      {std::string("\xfe\xff\0e\0v", 6), "is UTF-16; convert it to UTF-8"},
      {std::string("e\0v\0e\0n\0t\0,\0", 12), "is UTF-16; convert it to UTF-8"},
      {"event;id;bytes\na;x;1\n", "the columns are separated by ';', expected an event trace"},
      {"event\tid\tbytes\n", "the columns are separated by tabs, expected an event trace"},
      {"\xe9v\xe9nement\n", "got \"?v?nement\""},
      {"event,id,bytes\na,x,\xe9\n", "line 2, field bytes: got \"?\", expected a whole number"},
      {"event,id,bytes\na,x,\x7f\xc2\x9b\n", "line 2, field bytes: got \"???\""}};
  for (const auto& [text, sentence] : named) expect_refused(replay(text, {}), sentence);
}

TEST_F(ReplayRecordings, NamesLatin1AndReadsIt) {
  const Outcome latin = replay("event,id,bytes,tag\na,z,1,b\na,Caf\xe9,1000,b\n", {});
  EXPECT_EQ(latin.exit_code, 0);
  EXPECT_THAT(latin.messages, HasSubstr("line 3 is not UTF-8; is the file Latin-1?"));
  EXPECT_THAT(replay("event,id,bytes,tag\na,z,1,\xe9\n", {}).messages, HasSubstr("line 2 is not"));
  EXPECT_EQ(replay("event,id,bytes,tag\na,Caf\xc3\xa9,1,b\n", {}).messages, "");
}

TEST_F(ReplayRecordings, PlanNamesFilesThatAreNoTrace) {
  const auto plan = [&](const std::string& text) {
    return skyline_program({"plan", file("trace.csv", text)});
  };
  const std::string trace = "id,lower,upper,size\n0,0,5,10\n";
  expect_refused(plan(gzip(trace)), "is gzip; decompress it with gunzip");
  expect_refused(plan("id;lower;upper;size\n"),
                 "the columns are separated by ';', expected a header");
  expect_refused(plan("id\tlower\tupper\tsize\n"), "the columns are separated by tabs");
  expect_refused(plan("id,lower,upper,size\nCaf\xe9,0,5,10\n"),
                 "line 2, field id: got \"Caf?\", which is not UTF-8; is the file Latin-1?");
  expect_refused(plan("id,lower,upper,size,op,layer\n0,0,5,10,a,\xe9\n"), "line 2, field layer");
  EXPECT_EQ(plan("id,lower,upper,size\nCaf\xc3\xa9,0,5,10\n").exit_code, 0);
}

}  // namespace
}  // namespace skyline
