#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "memory/allocators/allocators.h"
#include "tests/train/checkpoints/file_size_limit.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/lab/golden_events.h"
#include "tests/train/parsed_json.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"
#include "train/lab/replay.h"
#include "train/options/memory_options.h"
#include "train/run/memory_chain.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReplayCommand : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }
  Outcome replay(const std::string& events, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"replay", file("events.csv", events)});
    return skyline_program(arguments);
  }
  nlohmann::json figures(const std::string& events, std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    const Outcome outcome = replay(events, arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    return outcome.json();
  }
  // Returns the figures of one allocator after replaying a file of any format.
  nlohmann::json figures_of_file(const std::string& name, const std::string& allocator) const {
    const Outcome outcome =
        skyline_program({"replay", path(name), "--allocator", allocator, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    return outcome.json();
  }
  void expect_refused(const Outcome& outcome, const std::string& sentence) const {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.output, "");
    EXPECT_THAT(outcome.messages, HasSubstr(sentence));
  }

  TemporaryFolder folder_;
};

// --- figures ---

struct GoldenRow {
  const char* allocator;
  std::uint64_t t1, t1_reversed, t2, t3;  // peak reserved bytes
};
constexpr GoldenRow kGolden[] = {
    {"network-wise", 268435456, 268435456, 8565760, 40810496},
    {"exact-pool", 268435456, 268435456, 8564736, 32400384},
    {"best-fit-pool", 268435456, 134217728, 8565760, 34407424},
    {"caching", 268435456, 134217728, 23068672, 44040192},
    {"bfc", 268435456, 134217728, 18874368, 67108864},
    {"stitched", 134217728, 134217728, 12582912, 31457280},
};

TEST_F(ReplayCommand, ReproducesTheGoldenVectors) {
  // Only `bfc` depends on the capacity here.
  const std::vector<std::string> arguments = {"--capacity", "64GiB"};
  const auto t1 = figures(golden_t1(), arguments);
  const auto t1_reversed = figures(golden_t1_reversed(), arguments);
  const auto t2 = figures(golden_t2(), arguments);
  const auto t3 = figures(golden_t3(), arguments);
  const std::vector<std::string> known = allocator_names();
  for (const GoldenRow& row : kGolden) {
    if (std::ranges::find(known, row.allocator) == known.end()) continue;
    const auto peak = [&](const nlohmann::json& json) {
      return json["allocators"][row.allocator]["peak_reserved"];
    };
    EXPECT_EQ(peak(t1), row.t1) << row.allocator;
    EXPECT_EQ(peak(t1_reversed), row.t1_reversed) << row.allocator;
    EXPECT_EQ(peak(t2), row.t2) << row.allocator;
    EXPECT_EQ(peak(t3), row.t3) << row.allocator;
  }
  EXPECT_EQ(t1["lower_bound"], 134217728);
  EXPECT_EQ(t1_reversed["lower_bound"], 134217728);
  EXPECT_EQ(t2["lower_bound"], 8565760);
  EXPECT_EQ(t3["lower_bound"], 27047936);
  for (const auto* json : {&t1, &t1_reversed, &t2, &t3}) {
    EXPECT_EQ((*json)["plan"]["peak"], (*json)["lower_bound"]);
    EXPECT_EQ((*json)["plan"]["proved_optimal"], true);
  }
  EXPECT_EQ(t3["steps"], 3);
  EXPECT_LE(t3["allocators"]["planned"]["peak_reserved"], 34407424);
}

TEST_F(ReplayCommand, PrintsTheKeysOfOneAllocator) {
  const auto json = figures(golden_t2(), {"--allocator", "pool"});
  EXPECT_EQ(json["allocator"], "best-fit-pool");
  EXPECT_EQ(json["peak_requested"], 8563800);
  EXPECT_EQ(json["peak_allocated"], 8565760);
  EXPECT_EQ(json["peak_reserved"], 8565760);
  EXPECT_EQ(json["device_allocations"], 6);
  EXPECT_EQ(json["device_frees"], 0);
  EXPECT_EQ(json["flushes"], 0);
  EXPECT_EQ(json["out_of_memory"], 0);
  EXPECT_EQ(json["largest_free_block"], 512);
  EXPECT_EQ(json["external_fragmentation"], 0.0);
  EXPECT_EQ(json["internal_fragmentation_at_peak"], 8565760 - 8563800);
  EXPECT_EQ(json["events"], 7);
  EXPECT_EQ(json["blocks"], 6);
  EXPECT_EQ(json["lower_bound"], 8565760);
}

TEST_F(ReplayCommand, PrintsOneTableWithThePlanInItsLastRow) {
  const Outcome outcome = replay(golden_t1(), {"--allocators", "network-wise,pool"});
  EXPECT_EQ(outcome.exit_code, 0);
  const std::size_t network_wise = outcome.output.find("\nnetwork-wise "),
                    pool = outcome.output.find("\nbest-fit-pool "),
                    plan = outcome.output.find("\nplan (");
  EXPECT_LT(network_wise, pool);
  EXPECT_LT(pool, plan);
  EXPECT_NE(plan, std::string::npos);
  EXPECT_THAT(outcome.output, HasSubstr("lower bound 128 MiB (134217728 bytes)"));
  EXPECT_THAT(outcome.output, HasSubstr("+100.0 %"));
}

TEST_F(ReplayCommand, ReplaysUnderAllAllocatorsByDefault) {
  const auto json = figures(golden_t2(), {});
  EXPECT_EQ(json["allocators"].size(), allocator_table().size() + 1);
  EXPECT_TRUE(json["allocators"].contains("planned"));
  EXPECT_EQ(figures(golden_t2(), {"--allocators", "all"})["allocators"], json["allocators"]);
}

TEST_F(ReplayCommand, PrintsCsv) {
  const Outcome outcome = replay(golden_t2(), {"--allocators", "pool,bfc", "--csv"});
  EXPECT_EQ(outcome.exit_code, 0);
  std::istringstream lines(outcome.output);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "trace,allocator,peak_requested,peak_allocated,peak_reserved,"
            "peak_reserved_since_switch,device_allocations,device_frees,flushes,out_of_memory,"
            "external_fragmentation_at_peak,internal_fragmentation_at_peak,segments,lower_bound");
  std::getline(lines, line);
  EXPECT_THAT(line, testing::StartsWith(path("events.csv") +
                                        ",best-fit-pool,8563800,8565760,8565760,,6,0,0,0,"));
  EXPECT_THAT(line, testing::EndsWith(",8565760"));
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr(",bfc,8563800,"));
  std::getline(lines, line);
  EXPECT_EQ(line, path("events.csv") + ",plan,,,8565760,,,,,,,,,8565760");
  EXPECT_FALSE(std::getline(lines, line));
  expect_refused(replay(golden_t2(), {"--csv", "--json"}), "two forms of the result");
}

TEST_F(ReplayCommand, ReplaysSeveralRecordingsOneAfterTheOther) {
  const std::string first = file("first.csv", golden_t1()),
                    second = file("second,.csv", golden_t2());
  const std::vector<std::string> both = {"replay", first, second, "--allocator", "pool"};
  const auto with = [&both](std::vector<std::string> more) {
    more.insert(more.begin(), both.begin(), both.end());
    return skyline_program(more);
  };
  const auto json = with({"--json"}).json();
  ASSERT_EQ(json["traces"].size(), 2u);
  EXPECT_EQ(json["traces"][0]["trace"], first);
  EXPECT_EQ(json["traces"][1]["peak_reserved"], 8565760);
  EXPECT_EQ(json["traces"][0]["peak_reserved"],
            figures(golden_t1(), {"--allocator", "pool"})["peak_reserved"])
      << "each recording has fresh allocators";
  const std::string text = with({}).output;
  EXPECT_THAT(text, HasSubstr(first + ": "));
  EXPECT_THAT(text, HasSubstr("\n" + second + ": "));
  const std::string csv = with({"--csv"}).output;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 5);
  EXPECT_THAT(csv, HasSubstr("\n\"" + second + "\",plan,"));
  expect_refused(with({"--write-events", path("out.csv")}), "got 2 recordings");
  expect_refused(skyline_program({"replay", "-", "-"}), "give - once");
  expect_refused(skyline_program({"replay", first, path("none.csv")}), "No such file");
}

TEST_F(ReplayCommand, SaysWhyAPlannerLeftThePlanOut) {
  std::string many = "id,lower,upper,size\n";
  for (int i = 0; i < 1001; ++i) many += std::to_string(i) + ",0,1,1\n";
  const auto json = figures(many, {"--allocator", "pool", "--planner", "mip"});
  EXPECT_TRUE(json["plan"].is_null());
  EXPECT_THAT(json["plan_left_out"], HasSubstr("too large for this planner: blocks"));
}

TEST_F(ReplayCommand, LeavesOutAPlanOfTooManyBlocksAndSaysSo) {
  const auto json = figures(golden_t1(), {"--allocator", "pool", "--plan-limit", "11"});
  EXPECT_TRUE(json["plan"].is_null());
  EXPECT_EQ(json["plan_left_out"], "12 blocks are more than the limit of 11 for a plan");
  EXPECT_EQ(json["lower_bound"], 134217728) << "streamed";
  EXPECT_FALSE(
      figures(golden_t1(), {"--allocator", "pool", "--plan-limit", "12"})["plan"].is_null());
  EXPECT_TRUE(figures(golden_t1(), {"--allocator", "pool", "--plan-limit", "0"})["plan"].is_null());
}

// golden_t1 needs twice its bound on the pool, and no more than the bound under its plan.
TEST_F(ReplayCommand, ShowsPlannedWhileItsPlanServesApartFromItsWarmUp) {
  const auto planned = figures(golden_t1(), {})["allocators"]["planned"];
  EXPECT_EQ(planned["peak_reserved"], 268435456);
  EXPECT_EQ(planned["peak_reserved_since_switch"], 134217728);
  const Outcome outcome = replay(golden_t1(), {"--allocator", "planned"});
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\nplanned +128 MiB +0 % "));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\nplanned, with warm-up +256 MiB"));
}

// The second block keeps the first one's region, so the box needs another one for the third.
TEST_F(ReplayCommand, TakesTheNotesPlannersAsAllocators) {
  const auto json = figures("id,lower,upper,size\n0,0,1,8192\n1,1,3,4096\n2,2,3,8192\n",
                            {"--allocators", "box,box-fixed,colouring,planned"});
  const auto served = [&](const char* name) {
    return json["allocators"][name]["peak_reserved_since_switch"].get<int>();
  };
  EXPECT_EQ(served("box"), 16384);
  EXPECT_EQ(served("box-fixed"), 16384);
  EXPECT_EQ(served("colouring"), 12288);
  EXPECT_EQ(served("planned"), 12288);
  const Outcome outcome = replay(golden_t1(), {"--allocator", "box"});
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\nbox, with warm-up +256 MiB"));
}

TEST_F(ReplayCommand, ShowsNoSteadyStateWithoutAPlanThatServes) {
  const auto steady = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--allocator", "planned"});
    return figures(golden_t1(), std::move(arguments))["peak_reserved_since_switch"];
  };
  EXPECT_TRUE(steady({"--plan-limit", "11"}).is_null());
  EXPECT_TRUE(steady({"--capacity", "100MiB"}).is_null());
  EXPECT_FALSE(steady({"--capacity", "128MiB"}).is_null()) << "the plan needs no more";
}

TEST_F(ReplayCommand, TakesTheOptionsOfTheAllocators) {
  const auto json =
      figures(golden_t2(), {"--allocator", "bfc", "--no-bfc-growth", "--bfc-limit", "10MiB"});
  EXPECT_EQ(json["peak_reserved"], 10 << 20);
}

TEST_F(ReplayCommand, ReadsATraceOfLifetimes) {
  const auto json =
      figures("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n",
              {"--allocator", "pool"});
  EXPECT_EQ(json["blocks"], 5);
  EXPECT_EQ(json["peak_requested"], 12);
  EXPECT_EQ(json["requested"], 0);
  EXPECT_EQ(json["peak_reserved"], 1536) << "frees come first";
}

TEST_F(ReplayCommand, ReadsStandardInput) {
  std::istringstream text(golden_t2());
  std::streambuf* const before = std::cin.rdbuf(text.rdbuf());
  const Outcome outcome = skyline_program({"replay", "-", "--allocator", "pool", "--json"});
  std::cin.rdbuf(before);
  EXPECT_EQ(outcome.json()["peak_reserved"], 8565760);
}

TEST_F(ReplayCommand, ReadsInterruptions) {
  EXPECT_EQ(figures("event,id,bytes\na,1,512\ni,,\nf,1,\n", {})["events"], 2);
}

// The plan takes what the bound says; allocators hold a unit for each block.
TEST_F(ReplayCommand, APlanHoldsNoBlocksOfNoBytes) {
  const nlohmann::json json = figures("event,id,bytes\na,x,0\na,y,512\na,z,0\nf,x,\nf,y,\nf,z,\n",
                                      {"--allocators", "network-wise,best-fit-pool"});
  EXPECT_EQ(json["blocks"], 3);
  EXPECT_EQ(json["lower_bound"], 512);
  EXPECT_EQ(json["plan"]["peak"], 512);
  EXPECT_EQ(json["allocators"]["best-fit-pool"]["peak_reserved"], 1536);
}

TEST_F(ReplayCommand, ReadsAnEmptyTrace) {
  const auto json = figures(kEventHeader, {});
  EXPECT_EQ(json["events"], 0);
  EXPECT_EQ(json["lower_bound"], 0);
  EXPECT_EQ(json["allocators"]["best-fit-pool"]["peak_reserved"], 0);
  EXPECT_EQ(replay(kEventHeader, {}).exit_code, 0);
}

// --- out of memory ---

TEST_F(ReplayCommand, ReportsShortagesAndFailsOnlyWhenStrict) {
  const std::vector<std::string> arguments = {"--allocator", "pool", "--capacity", "160MiB"};
  const std::string events = golden_t1() + "a,last,167772160\nf,last,\n";
  const Outcome outcome = replay(events, arguments);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("best-fit-pool refused 1 of the requests"));
  EXPECT_THAT(outcome.output, HasSubstr("events.csv line 22: block last asks for 160 MiB"));
  EXPECT_THAT(outcome.output, HasSubstr("out of memory (the device is full): requested 167772160"));
  EXPECT_THAT(outcome.output, HasSubstr("largest free block"));
  EXPECT_THAT(outcome.output, HasSubstr("alive: 4 blocks, 128 MiB requested"));
  EXPECT_THAT(outcome.output, HasSubstr("largest: q0 32 MiB; q1 32 MiB"));

  std::vector<std::string> strict = arguments;
  strict.push_back("--strict");
  EXPECT_EQ(replay(events, strict).exit_code, 1);
  EXPECT_EQ(replay(golden_t1(), strict).exit_code, 0) << "a flush is no failure";

  const auto json = figures(events, arguments);
  EXPECT_EQ(json["out_of_memory"], 1);
  EXPECT_GE(json["flushes"], 1);
  ASSERT_EQ(json["out_of_memory_reports"].size(), 1u);
  const auto& report = json["out_of_memory_reports"][0];
  EXPECT_EQ(report["id"], "last");
  EXPECT_EQ(report["line"], 22);
  EXPECT_EQ(report["capacity"], 160 << 20);
  EXPECT_EQ(report["live_requested"], 128 << 20);
}

TEST_F(ReplayCommand, SaysWhenNoAllocatorCouldServeAll) {
  const std::string sentence = "the capacity, 8388608 bytes, is below the lower bound";
  EXPECT_THAT(replay(golden_t2(), {"--capacity", "8MiB"}).output, HasSubstr(sentence));
  EXPECT_THAT(replay(golden_t2(), {"--capacity", "9MiB"}).output,
              testing::Not(HasSubstr("is below the lower bound")));
}

TEST_F(ReplayCommand, EveryAllocatorHasADeviceOfItsOwn) {
  const auto json = figures(golden_t2(), {"--capacity", "9MiB"});
  EXPECT_EQ(json["allocators"]["best-fit-pool"]["out_of_memory"], 0);
  EXPECT_EQ(json["allocators"]["network-wise"]["out_of_memory"], 0);
  for (const auto& [name, row] : json["allocators"].items()) {
    EXPECT_LE(row["peak_reserved"], 9 << 20) << name;
  }
}

TEST_F(ReplayCommand, AbsurdSizesAreRefusedAndCounted) {
  const auto json =
      figures(kEventHeader + "a,zero,0\na,x,9223372036854775807\nf,x,\nf,zero,\n", {});
  EXPECT_TRUE(json["lower_bound"].is_null());
  EXPECT_TRUE(json["plan"].is_null());
  EXPECT_EQ(json["plan_left_out"], "more than 2^63 - 1 bytes are alive at once");
  for (const auto& [name, row] : json["allocators"].items()) {
    EXPECT_EQ(row["out_of_memory"], 1) << name;
    EXPECT_EQ(row["requested"], 0) << name;
  }
}

// --- bad input ---

TEST_F(ReplayCommand, BrokenEventsAreNamedAndNothingIsWritten) {
  const std::string output = path("out.csv");
  for (const auto& [events, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"", "events.csv: got no text, expected an event trace"},
           {"a,x,1\n", "events.csv line 1: got \"a,x,1\", expected an event trace"},
           {kEventHeader + "a,x,many\n", "events.csv line 2, field bytes: got \"many\", expected"},
           {kEventHeader + "a,x,1\na,x,1\n", "line 3, field id: got \"x\", which is alive"},
           {kEventHeader + "a,x,1\nf,y,\n", "line 3, field id: got \"y\" to free, expected"},
           {kEventHeader + "a,x,1\na,y", "line 3: got 2 fields, expected 3 as in the header"},
           {"id,lower,upper,size\nx,5,3,1\n", "line 2, field upper"},
           {std::string("\x80\x04\x95", 3), "the pickle ends after 3 bytes"},
           {std::string("\x80\x02"
                        "cos\nsystem\n.",
                        14),
            "got the opcode GLOBAL (0x63)"}}) {
    expect_refused(replay(events, {"--allocator", "pool", "--write-events", output}), sentence);
    EXPECT_EQ(files(), 1u) << "only the input is there";
  }
}

TEST_F(ReplayCommand, WrongUsageIsNamed) {
  expect_refused(replay(golden_t2(), {"--allocator", "cacheing"}), "did you mean 'caching'?");
  expect_refused(replay(golden_t2(), {"--allocators", "pool,best-fit"}),
                 "did you mean 'best-fit-pool'?");
  expect_refused(replay(golden_t2(), {"--allocator", "pool", "--allocators", "all"}),
                 "give one of them");
  expect_refused(replay(golden_t2(), {"--format", "rmn"}), "did you mean 'rmm'?");
  expect_refused(replay(golden_t2(), {"--format", "rmm"}), "expected RMM's header line");
  expect_refused(replay(golden_t2(), {"--write-rmm", path("x")}), "under one allocator, got ");
  expect_refused(replay(golden_t2(), {"--allocator", "pool", "--write-rmm", path("x"),
                                      "--write-events", folder_.path() / "." / "x"}),
                 "two outputs are to be written to");
  expect_refused(skyline_program({"replay", path("none.csv")}), "No such file or directory");
  expect_refused(skyline_program({"replay", folder_.path()}), "cannot be read");
}

TEST_F(ReplayCommand, OptionsThatDoNothingAreRefused) {
  const std::string events = golden_t2();
  expect_refused(replay(events, {"--device", "99"}),
                 "--device chooses a device of a PyTorch snapshot; ");
  expect_refused(replay(events, {"--device", "0"}), "is of the format events");
  expect_refused(replay(events, {"--plan-limit", "0", "--time-limit", "1"}),
                 "--time-limit is for the plan, which --plan-limit 0 leaves out");
  expect_refused(replay(events, {"--plan-limit", "0", "--planner", "exact", "--allocator", "bfc"}),
                 "--planner is for the plan, which --plan-limit 0 leaves out");
  expect_refused(replay(events, {"--allocator", "bfc", "--expandable-segments"}),
                 "--expandable-segments is for the allocator caching");
  EXPECT_EQ(replay(events, {"--plan-limit", "0", "--planner", "best-fit"}).exit_code, 0)
      << "the allocator planned uses the planner";
}

// network-wise has a slot for every request of a step, also for those long freed.
TEST_F(ReplayCommand, WarnsOnceBeforeNetworkWiseFillsTheMemory) {
  const auto events = [](std::uint64_t blocks, std::uint64_t steps_every) {
    std::string text = "event,id,bytes\n";
    for (std::uint64_t i = 0; i < blocks; ++i) {
      if (steps_every > 0 && i % steps_every == 0) text += "s,,\n";
      text += fmt::format("a,{0},8\nf,{0},\n", i % 10);
    }
    return text;
  };
  const std::vector<std::string> network_wise = {"--allocator", "network-wise", "--plan-limit",
                                                 "0"};
  const Outcome warned = replay(events(kSlotsWithoutWarning + 2, 0), network_wise);
  EXPECT_EQ(warned.exit_code, 0);
  EXPECT_THAT(warned.messages,
              HasSubstr("network-wise keeps a slot for each request of a step, 1048576 so far"));
  EXPECT_EQ(warned.messages.find("keeps a slot"), warned.messages.rfind("keeps a slot"));
  EXPECT_EQ(replay(events(kSlotsWithoutWarning + 2, 500'000), network_wise).messages, "")
      << "each step uses the slots of the one before";
  EXPECT_EQ(replay(events(kSlotsWithoutWarning + 2, 0),
                   {"--allocator", "best-fit-pool", "--plan-limit", "0"})
                .messages,
            "");
}

TEST_F(ReplayCommand, AFullDiskLeavesNothing) {
  std::string events = kEventHeader;
  for (int i = 0; i < 20'000; ++i) events += "a,b" + std::to_string(i) + ",512\n";
  const std::string input = file("events.csv", events);
  for (const char* flag :
       {"--write-events", "--write-trace", "--write-rmm", "--write-chrome-trace"}) {
    const FileSizeLimit limit(1000);
    const Outcome outcome =
        skyline_program({"replay", input, "--allocator", "pool", flag, path("out")});
    EXPECT_EQ(outcome.exit_code, 1) << flag;
    EXPECT_THAT(outcome.messages, HasSubstr("cannot write " + path("out") + ": File too large"));
    EXPECT_EQ(files(), 1u) << flag;
  }
}

TEST_F(ReplayCommand, NamesTheCauseOfAFullDevice) {
  const Outcome outcome = replay(golden_t2(), {"--allocator", "pool", "--write-rmm", "/dev/full"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.messages, HasSubstr("cannot write /dev/full: No space left"));
}

// --- round trips ---

TEST_F(ReplayCommand, WhatItWritesItReads) {
  const auto before =
      figures(golden_t3(), {"--allocator", "best-fit-pool", "--write-events", path("copy.csv"),
                            "--write-trace", path("trace.csv"), "--write-rmm", path("rmm.csv")});
  for (const char* name : {"copy.csv", "trace.csv", "rmm.csv"}) {
    const auto after = figures_of_file(name, "best-fit-pool");
    for (const char* key : {"peak_requested", "peak_allocated", "peak_reserved", "blocks",
                            "device_allocations", "lower_bound"}) {
      EXPECT_EQ(after[key], before[key]) << name << ' ' << key;
    }
  }
  EXPECT_EQ(read_file(path("copy.csv")), golden_t3());
}

TEST_F(ReplayCommand, WhatItWritesCanBePlanned) {
  replay(golden_t3(), {"--allocator", "pool", "--write-trace", path("trace.csv")});
  const Outcome planned =
      skyline_program({"plan", path("trace.csv"), "--alignment", "512B", "--json"});
  EXPECT_EQ(planned.exit_code, 0) << planned.messages;
  EXPECT_EQ(planned.json()["lower_bound"], 27047936);
}

TEST_F(ReplayCommand, WritesChromeTraceEvents) {
  replay(golden_t2(), {"--allocator", "pool", "--write-chrome-trace", path("trace.json")});
  const auto json = parsed_json(read_file(path("trace.json")));
  EXPECT_EQ(json["traceEvents"].size(), 1 + 6 + 3 * 7u);
}

}  // namespace
}  // namespace skyline
