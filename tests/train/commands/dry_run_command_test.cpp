// The command dry-run, from its arguments to its output.

#include <gtest/gtest.h>

#include <fstream>

#include "memory/formats/csv/trace_csv.h"
#include "tests/cuda/described_card.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/report/browser.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"
#include "train/cli/table.h"
#include "train/options/memory_options.h"
#include "train/run/memory_chain.h"

namespace skyline {
namespace {

Outcome dry_run_of(std::vector<std::string> more) {
  std::vector<std::string> words = {"dry-run"};
  words.insert(words.end(), more.begin(), more.end());
  return skyline_program(words);
}

TEST(DryRunCommandTest, JsonHasItsKeys) {
  const nlohmann::json json =
      dry_run_of({"--batch-size", "8", "--device-memory", "2MiB", "--json"}).json();
  for (const char* key : {"model",
                          "batch_size",
                          "mode",
                          "workspace",
                          "parameters",
                          "resident_bytes",
                          "resident",
                          "blocks",
                          "lower_bound",
                          "peak",
                          "gap",
                          "planner",
                          "proved_optimal",
                          "planning_seconds",
                          "order",
                          "categories",
                          "layers",
                          "allocators",
                          "strategies",
                          "device_memory",
                          "largest_batch_ceiling",
                          "batch_sizes_run",
                          "seconds"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const std::string& name : allocator_names()) {
    const nlohmann::json& row = json["allocators"][name];
    for (const char* key : {"fits", "peak_reserved", "peak_reserved_without_limit", "problem",
                            "device_allocations", "largest_batch", "largest_batch_proved"}) {
      EXPECT_TRUE(row.contains(key)) << name << " " << key;
    }
    EXPECT_EQ(row["fits"], row["problem"].is_null()) << name;
    EXPECT_EQ(row["fits"], row["largest_batch"] >= 8) << name;
  }
  std::uint64_t resident = 0;
  for (const auto& [name, bytes] : json["resident"].items()) resident += bytes.get<std::uint64_t>();
  EXPECT_EQ(resident, json["resident_bytes"]);
}

TEST(DryRunCommandTest, TakesTheNotesPlannersAsAllocators) {
  const std::vector<std::string> of_box = {"--allocators", "box,planned", "--json"};
  const nlohmann::json rows = dry_run_of(of_box).json()["allocators"];
  const nlohmann::json by_box = dry_run_of({"--planner", "box", "--json"}).json()["allocators"];
  EXPECT_EQ(rows["box"]["peak_reserved"], by_box["planned"]["peak_reserved"]);
  EXPECT_GT(rows["box"]["peak_reserved"], rows["planned"]["peak_reserved"]);
}

TEST(DryRunCommandTest, WithoutADeviceNothingIsSaidOfOne) {
  const nlohmann::json json = dry_run_of({"--batch-size", "4", "--json"}).json();
  EXPECT_FALSE(json.contains("device_memory"));
  EXPECT_FALSE(json["allocators"]["planned"].contains("largest_batch"));
  EXPECT_EQ(dry_run_of({"--batch-size", "4"}).output.find("the device has"), std::string::npos);
}

// Computed by hand, rounded to 512: images 6,272, labels 8, conv1's output 37,632, which its relu
// overwrites in place, pool1's output 9,408 and its argmax 2,352, conv2's output 12,800, and
// conv2's workspace.
TEST(DryRunCommandTest, TheFullestTickOfLeNetByHand) {
  const nlohmann::json json =
      dry_run_of({"--batch-size", "2", "--workspace", "8MiB", "--json"}).json();
  const std::uint64_t held = 6'656 + 512 + 37'888 + 9'728 + 2'560 + 12'800 + 8'388'608;
  EXPECT_EQ(json["lower_bound"], held);
  EXPECT_EQ(json["peak"], held);
  EXPECT_EQ(json["proved_optimal"], true);
  EXPECT_EQ(json["categories"]["workspace"]["bytes_at_lower_bound"], 8'388'608);
  EXPECT_EQ(json["categories"]["input"]["bytes_at_lower_bound"], 6'656 + 512);
  // Weights and biases of 156, 2,416, 48,120, 10,164 and 850 elements per layer, each tensor
  // rounded; times three for gradients and momentum.
  const std::uint64_t parameters =
      1'024 + 512 + 9'728 + 512 + 192'000 + 512 + 40'448 + 512 + 3'584 + 512;
  EXPECT_EQ(json["resident_bytes"], 3 * parameters);
}

// As in the paper: image, label, the first convolution's output and its workspace.
TEST(DryRunCommandTest, InferenceKeepsOnlyWhatTheFirstConvolutionNeeds) {
  const nlohmann::json json =
      dry_run_of({"--infer", "--batch-size", "1", "--workspace", "8MiB", "--json"}).json();
  EXPECT_EQ(json["peak"], 3'584 + 512 + 18'944 + 8'388'608);
  EXPECT_EQ(json["mode"], "inference");
  EXPECT_EQ(json["strategies"].size(), 4u) << "forward only is what it is";
}

TEST(DryRunCommandTest, TheStrategiesTellWhatRecomputeSaves) {
  const auto planned = [](const nlohmann::json& json, const std::string& name) {
    for (const auto& row : json["strategies"]) {
      if (row["strategy"] == name) return row["planned"].get<std::uint64_t>();
    }
    return std::uint64_t{0};
  };
  const std::vector<std::string> resnet = {"--model", "resnet20", "--json"};
  const nlohmann::json kept = dry_run_of(resnet).json();
  EXPECT_LT(planned(kept, "recompute 4"), planned(kept, "both") * 2 / 3);
  std::vector<std::string> recomputing = resnet;
  recomputing.insert(recomputing.end(), {"--recompute", "4"});
  const nlohmann::json again = dry_run_of(recomputing).json();
  EXPECT_EQ(planned(again, "both"), planned(kept, "recompute 4"));
  EXPECT_EQ(planned(again, "recompute 4"), 0u) << "it is what both is";
  EXPECT_EQ(planned(dry_run_of({"--model", "mlp", "--json"}).json(), "recompute 4"), 0u)
      << "nothing is saved";
}

TEST(DryRunCommandTest, ACardIsForeseenFromItsDescription) {
  const TemporaryFolder folder;
  std::ofstream(folder / "card.json") << R"({"card": )" << tests::kDescribedCard << "}";
  const std::vector<std::string> asked = {"--device", "cuda", "--engines", folder / "card.json",
                                          "--json"};
  const Outcome outcome = dry_run_of(asked);
  if (outcome.messages.find("no CUDA backend") != std::string::npos) {
    GTEST_SKIP() << "this build has no CUDA backend";
  }
  const nlohmann::json planned = outcome.json()["allocators"]["planned"];
  EXPECT_EQ(planned["fits"], true);
  // An arena on a GPU grows by 2 MiB.
  EXPECT_EQ((planned["peak_reserved"].get<std::uint64_t>() -
             outcome.json()["resident_bytes"].get<std::uint64_t>()) %
                (2 << 20),
            0u);
}

TEST(DryRunCommandTest, ACardThatNothingDescribesIsRefused) {
  const Outcome outcome = dry_run_of({"--device", "cuda"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.messages.find("--engines"), std::string::npos) << outcome.messages;
  EXPECT_EQ(dry_run_of({"--no-prefetch"}).exit_code, 2) << "without --device cuda";
}

TEST(DryRunCommandTest, CapacityIsAnotherNameOfDeviceMemory) {
  EXPECT_EQ(dry_run_of({"--capacity", "2MiB", "--json"}).json()["device_memory"], 2 << 20);
}

TEST(DryRunCommandTest, AModelThatCannotFitIsAnsweredWithWhatWould) {
  const Outcome outcome = dry_run_of({"--device-memory", "500KiB"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("not even one image fits 500 KiB"), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("inference fits up to batch "), std::string::npos)
      << outcome.output;
  const nlohmann::json json = dry_run_of({"--device-memory", "500KiB", "--json"}).json();
  EXPECT_EQ(json["allocators"]["planned"]["largest_batch"], 0);
  EXPECT_GT(json["one_image"]["planned"], 500 << 10);
  EXPECT_GT(json["largest_inference_batch"], 0);
  EXPECT_NE(dry_run_of({"--device-memory", "1KiB"}).output.find("nor does inference"),
            std::string::npos);
}

TEST(DryRunCommandTest, OptionsOfAllocatorsCount) {
  const nlohmann::json json = dry_run_of({"--bfc-limit", "1MiB", "--json"}).json();
  EXPECT_EQ(json["allocators"]["bfc"]["fits"], false);
  EXPECT_EQ(json["allocators"]["caching"]["fits"], true);
  EXPECT_EQ(json["allocator_options"]["bfc_limit"], 1 << 20);
}

TEST(DryRunCommandTest, TheTraceCanBeWritten) {
  const TemporaryFolder folder;
  const std::string file = (folder / "trace.csv").string();
  const nlohmann::json json =
      dry_run_of({"--batch-size", "4", "--write-trace", file, "--json"}).json();
  std::ifstream in(file);
  const Trace trace = read_trace_csv(in, file);
  EXPECT_EQ(trace.size(), json["blocks"]);
  EXPECT_EQ(lower_bound_bytes(trace, 512), json["lower_bound"]);
}

TEST(DryRunCommandTest, TheOrderIsReported) {
  const std::vector<std::string> asked = {"--model", "mlp", "--fused-update", "--json"};
  for (const char* mode : {"", "--infer"}) {
    std::vector<std::string> words = asked;
    if (*mode != 0) words.push_back(mode);
    const nlohmann::json json = dry_run_of(words).json(), order = json["order"];
    EXPECT_EQ(order["algorithm"], *mode != 0 ? "program" : "optimal");
    EXPECT_EQ(order["peak"], json["lower_bound"]);
    EXPECT_EQ(order["placed"], json["peak"]);
    EXPECT_LE(order["peak"], order["program"]);
    EXPECT_LE(order["peak"], order["early"]);
    EXPECT_LE(order["free"], order["peak"]);
    EXPECT_EQ(order["proved_optimal"], true);
    EXPECT_EQ(order["lower_bound"], order["peak"]);
    EXPECT_EQ(order["free_proved_optimal"], order["free_lower_bound"] == order["free"]);
  }
  const nlohmann::json program =
      dry_run_of({"--model", "mlp", "--fused-update", "--order", "program", "--json"}).json();
  EXPECT_EQ(program["order"]["algorithm"], "program");
  EXPECT_EQ(program["order"]["peak"], program["order"]["program"]);
  EXPECT_EQ(program["order"]["peak"], program["lower_bound"]);
  EXPECT_NE(dry_run_of({}).output.find("order      optimal: "), std::string::npos);
}

// The file's order is the program's, whatever the step executes.
TEST(DryRunCommandTest, TheGraphCanBeWrittenAndOrdered) {
  const TemporaryFolder folder;
  const std::string file = (folder / "graph.json").string(), again = (folder / "b.json").string();
  const nlohmann::json json =
      dry_run_of({"--fused-update", "--write-graph", file, "--json"}).json();
  ASSERT_EQ(dry_run_of({"--fused-update", "--order", "program", "--write-graph", again}).exit_code,
            0);
  EXPECT_EQ(read_file(file), read_file(again));
  const nlohmann::json ordered = skyline_program({"order", file, "--json"}).json();
  const std::uint64_t resident = json["resident_bytes"];
  EXPECT_EQ(ordered["graph"], "lenet");
  EXPECT_EQ(ordered["resident_bytes"], resident);
  EXPECT_EQ(ordered["program"], resident + json["order"]["program"].get<std::uint64_t>());
  EXPECT_EQ(ordered["peak"], resident + json["order"]["free"].get<std::uint64_t>());
}

TEST(DryRunCommandTest, AFolderThatIsMissingIsNamedAtOnce) {
  for (const char* option : {"--write-graph", "--write-trace"}) {
    const Outcome outcome = dry_run_of({option, "/nowhere/file"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.messages.find("no folder '/nowhere' for file"), std::string::npos)
        << outcome.messages;
    EXPECT_EQ(outcome.output, "");
  }
}

TEST(DryRunCommandTest, TablesFitATerminal) {
  for (const char* memory : {"1MiB", "1GiB"}) {
    const Outcome outcome =
        dry_run_of({"--model", "mlp", "--batch-size", "12345", "--device-memory", memory});
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), 80u) << line;
    }
  }
}

TEST(DryRunCommandTest, WrongUsageNamesItself) {
  const struct {
    std::vector<std::string> words;
    const char* hint;
  } cases[] = {{{"--device-memory", "0"}, "--device-memory"},
               {{"--device-memory", "16GB"}, "did you mean '16GiB'"},
               {{"--device-memory", "much"}, "--device-memory"},
               {{"--workspace", "8MB"}, "did you mean '8MiB'"},
               {{"--batch-size", "0"}, "--batch-size"},
               {{"--allocators", "plannd"}, "did you mean 'planned'"},
               {{"--allocators", "pool,best-fit-poll"}, "did you mean 'best-fit-pool'"},
               {{"--model", "alxnet"}, "unknown model 'alxnet'"},
               {{"--insize", "8"}, "image, got 8 x 8, expected at least 12 x 12"},
               {{"--no-bfc-growth"}, "--bfc-limit"}};
  for (const auto& [words, hint] : cases) {
    const Outcome outcome = dry_run_of(words);
    EXPECT_EQ(outcome.exit_code, 2) << words.back();
    EXPECT_NE(outcome.messages.find(hint), std::string::npos) << outcome.messages;
    EXPECT_EQ(outcome.output, "");
  }
}

TEST(DryRunCommandTest, ShowsWhatLanesCostAndGain) {
  const TemporaryFolder folder;
  const Outcome outcome =
      dry_run_of({"--lanes", "2", "--write-lanes", folder / "l.html", "--json"});
  const nlohmann::json lanes = outcome.json()["lanes"];
  ASSERT_EQ(lanes["plans"].size(), 5u);
  EXPECT_EQ(lanes["plans"][0]["peak"], outcome.json()["peak"]);
  EXPECT_EQ(lanes["plans"][1]["plan"], "2 lanes");
  for (const nlohmann::json& plan : lanes["plans"]) {
    EXPECT_GE(plan["peak"], plan["proved_bound"]);
    EXPECT_GE(plan["above_one_lane"], 0);
    EXPECT_LE(plan["seconds"], lanes["sum_seconds"]);
    EXPECT_GE(plan["seconds"], lanes["critical_path_seconds"]);
  }
  EXPECT_GT(lanes["most_at_once"], 1);
  expect_in_browser(read_file(folder / "l.html"),
                    {"On 2 lanes the step takes", "path colours", "lane 1"});
}

TEST(DryRunCommandTest, OneLaneIsTheOrdinaryPlan) {
  const nlohmann::json lanes = dry_run_of({"--lanes", "1", "--json"}).json()["lanes"];
  ASSERT_EQ(lanes["plans"].size(), 4u);
  EXPECT_EQ(lanes["seconds"], lanes["sum_seconds"]);
  EXPECT_EQ(lanes["events"], 0);
}

TEST(DryRunCommandTest, ColoursTheLongestPathsOnly) {
  const auto lanes = [](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"--model", "googlenet", "--batch-size", "4", "--lanes", "2", "--json"});
    return dry_run_of(more).json()["lanes"];
  };
  const nlohmann::json all = lanes({});
  const auto few = lanes({"--path-colours", "2"});
  const auto paths = lanes({"--path-colours", std::to_string(all["paths"].get<int>())});
  EXPECT_EQ(few["coloured_paths"], 2);
  EXPECT_EQ(all["coloured_paths"], all["paths"]);
  for (std::size_t k = 0; k < all["plans"].size(); ++k) {
    EXPECT_EQ(paths["plans"][k]["peak"], all["plans"][k]["peak"]);
    EXPECT_EQ(paths["plans"][k]["waits"], all["plans"][k]["waits"]);
  }
  const nlohmann::json &two = all["plans"][1], &hard = all["plans"][2], &soft = all["plans"][3];
  EXPECT_EQ(soft["plan"], "path colours, soft");
  EXPECT_EQ(soft["waits"], 0);
  EXPECT_LE(soft["peak"], two["peak"]);
  EXPECT_LT(soft["peak"], all["plans"][4]["peak"]) << "of any order";
  EXPECT_GT(soft["within_colours"], two["within_colours"]);
  EXPECT_EQ(hard["within_colours"], 1);
  EXPECT_LT(few["plans"][2]["peak"], hard["peak"]) << "ops of no path share as on one lane,";
  EXPECT_GT(few["plans"][2]["waits"], 0) << "so they wait";
  EXPECT_EQ(dry_run_of({"--path-colours", "2"}).exit_code, 2);
}

// 32 images of 6 x 14 x 14 pixels.
TEST(DryRunCommandTest, SaysWhatAHeldOutputKeeps) {
  const std::vector<std::string> words = {"--model", "lenet", "--hold", "conv1"};
  const Outcome outcome = dry_run_of(words);
  EXPECT_NE(outcome.output.find("keeps 147 KiB for the whole step"), std::string::npos)
      << outcome.output;
  const nlohmann::json json = dry_run_of({"--model", "lenet", "--hold", "conv1", "--json"}).json();
  EXPECT_EQ(json["held"]["bytes"], 32 * 6 * 14 * 14 * 4);
  EXPECT_GE(json["held"]["planned"], json["peak"]);
  EXPECT_FALSE(dry_run_of({"--json"}).json().contains("held"));
  const Outcome unknown = dry_run_of({"--model", "lenet", "--hold", "conv9"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.messages.find("layer 'conv9'"), std::string::npos) << unknown.messages;
}

TEST(DryRunCommandTest, RefusesLanesThatDoNotFit) {
  const auto messages = [](std::vector<std::string> words) { return dry_run_of(words).messages; };
  EXPECT_EQ(messages({"--lanes", "0"}),
            "error: --lanes: 0 is out of range: it must be from 1 to 1000000\n");
  EXPECT_EQ(messages({"--lanes", "500"}), "error: --lanes 500: the step has only 42 ops\n");
  EXPECT_EQ(messages({"--write-lanes", "l.html"}), "error: --write-lanes needs --lanes\n");
}

TEST(DryRunCommandTest, KnowsSeq2Seq) {
  const auto answer = [](std::vector<std::string> more) {
    std::vector<std::string> words = {
        "--model",          "seq2seq", "--batch-size", "4", "--units", "16", "--vocab-size", "50",
        "--sentence-words", "6",       "--threads",    "1", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return dry_run_of(words).json();
  };
  const nlohmann::json training = answer({}), inference = answer({"--infer"});
  EXPECT_EQ(training["proved_optimal"], true);
  EXPECT_LT(inference["peak"], training["peak"]);
  EXPECT_LT(inference["resident_bytes"], training["resident_bytes"]);
  EXPECT_LT(answer({"--fused-update"})["resident_bytes"], training["resident_bytes"]);
  EXPECT_LT(answer({"--optimizer", "sgd"})["resident_bytes"], training["resident_bytes"]);
  EXPECT_GT(answer({"--unroll"})["blocks"], training["blocks"]);
  EXPECT_GT(answer({"--device-memory", "64MiB"})["largest_batch_ceiling"], 4);
}

TEST(DryRunCommandTest, RefusesOptionsOfAnotherKindOfModel) {
  const Outcome outcome = dry_run_of({"--model", "lenet", "--sentence-words", "6"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.messages.find("--sentence-words is for models that translate"),
            std::string::npos)
      << outcome.messages;
}

}  // namespace
}  // namespace skyline
