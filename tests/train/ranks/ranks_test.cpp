// Runs of several processes: the program itself, started by mpirun.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/decided_run.h"
#include "tests/train/parsed_json.h"
#include "tests/train/ranks/run_bits.h"
#include "tests/train/report/page_data.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/files.h"
#include "train/ranks/leader_and_follower.h"

namespace skyline {
namespace {

using namespace tests;

namespace fs = std::filesystem;

using testing::HasSubstr;
using Words = std::vector<std::string>;

// A program that runs. Its output and messages go to one file.
class Program {
 public:
  Program(Words words, fs::path output, const Words& environment = {})
      : output_(std::move(output)) {
    process_ = fork();
    if (process_ != 0) return;
    for (const std::string& variable : environment) putenv(strdup(variable.c_str()));
    const int file = creat(output_.c_str(), 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    _exit(127);
  }

  pid_t process() const { return process_; }
  std::string output() const { return fs::exists(output_) ? read_file(output_) : ""; }

  // Returns the exit code, or 128 and the signal.
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  fs::path output_;
  pid_t process_ = 0;
};

std::string read_process_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Ranks : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("mpirun --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun";
  }

  Words train(const std::string& run, const Words& more) const {
    Words words = {SKYLINE_PROGRAM, "train", "--threads", "1", "--output", folder_ / run};
    words.insert(words.end(), more.begin(), more.end());
    const bool has_images = std::ranges::find(words, "--images") != words.end();
    if (has_images) words.insert(words.end(), {"--config", few_test_images()});
    return words;
  }
  // Runs the program to its end.
  Program run(const Words& words, int exit_code, const Words& environment = {}) const {
    Program program(words, folder_ / "output", environment);
    EXPECT_EQ(program.wait(), exit_code) << program.output();
    return program;
  }

  // At the same time.
  void run_both(const Words& one, const Words& other) const {
    Program first(one, folder_ / "output"), second(other, folder_ / "other output");
    EXPECT_EQ(first.wait(), 0) << first.output();
    EXPECT_EQ(second.wait(), 0) << second.output();
  }

  std::string result(const std::string& run) const { return run_bits(folder_ / run); }

  // The process of a rank of a running program; waits until it is there.
  pid_t rank_of(const std::string& run, int rank) const {
    const std::string variable = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
    for (int attempt = 0; attempt < 600; ++attempt) {
      for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        if (read_process_file(entry.path() / "cmdline").find(folder_ / run) == std::string::npos ||
            read_process_file(entry.path() / "environ").find(variable) == std::string::npos) {
          continue;
        }
        return std::stoi(name);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return 0;
  }
  void wait_for_step(const std::string& run, int step) const {
    for (int attempt = 0; attempt < 1200; ++attempt) {
      std::ifstream log(folder_ / run / "log.jsonl");
      int lines = 0;
      for (std::string line; std::getline(log, line);) ++lines;
      if (lines >= step) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << "step " << step << " was never logged";
  }
  Words long_run(const std::string& name) const {
    return train(name, {"--model", "lenet", "--data", "shapes", "--images", "4096", "--epochs",
                        "1000", "--checkpoint-every", "2", "--ranks", "2"});
  }

  TemporaryFolder folder_;
};

TEST_F(Ranks, MakeTheBitsOfAsManyMicroBatches) {
  const std::vector<std::pair<std::string, Words>> cases = {
      {"3", {"--model", "mlp", "--images", "256", "--steps", "5", "--optimizer", "adam"}},
      {"2", {"--model", "lenet", "--images", "256", "--steps", "4", "--order", "program"}},
      {"2",
       {"--model", "resnet20", "--images", "64", "--steps", "2", "--batch-size", "8", "--allocator",
        "pool"}},
      {"3", {"--model", "lenet", "--images", "128", "--steps", "4", "--fused-update"}},
      {"3",
       {"--model", "resnet20", "--images", "64", "--steps", "2", "--batch-size", "8", "--memory",
        "16MiB"}},
      {"3",
       {"--model", "seq2seq", "--pairs", "200", "--steps", "3", "--batch-size", "8", "--units",
        "16", "--val-pairs", "8", "--unroll"}},
      {"4",
       {"--model", "seq2seq", "--pairs", "200", "--steps", "2", "--batch-size", "8", "--units",
        "16", "--val-pairs", "8"}},
      // 40 sentences of numbers have so many words that their loss goes in panels.
      {"2",
       {"--model", "seq2seq", "--pairs", "200", "--steps", "2", "--batch-size", "40", "--units",
        "16", "--val-pairs", "8", "--clip", "0"}},
      {"2",
       {"--model", "resnet20", "--images", "64", "--steps", "2", "--batch-size", "8", "--freeze",
        "conv1,bn1,conv2_*"}},
      {"3",
       {"--model", "gpt-small", "--characters", "3000", "--steps", "3", "--batch-size", "8",
        "--layers", "2", "--units", "16", "--length", "12", "--dropout", "0.1"}},
  };
  int number = 0;
  for (const auto& [ranks, options] : cases) {
    SCOPED_TRACE(options[1]);
    Words one = options, many = options;
    if (one.back() == "--fused-update") one.pop_back();  // excludes micro-batches
    one.insert(one.end(), {"--micro-batches", ranks});
    many.insert(many.end(), {"--ranks", ranks, "--bandwidth", "1MiB"});  // several sums
    const std::string name = std::to_string(++number);
    run_both(train(name + "-one", one), train(name + "-many", many));
    EXPECT_EQ(result(name + "-one"), result(name + "-many"));
  }
}

// Each rank keeps a share of the optimizer's state; the checkpoint has the whole of it.
TEST_F(Ranks, ThatShareTheUpdatesMakeTheSameBitsWithLessState) {
  const std::vector<std::pair<std::string, Words>> cases = {
      {"3", {"--model", "mlp", "--images", "256", "--steps", "5", "--optimizer", "adam"}},
      {"2", {"--model", "lenet", "--images", "128", "--steps", "4", "--fused-update"}},
      {"4",
       {"--model", "resnet20", "--images", "64", "--steps", "2", "--batch-size", "8",
        "--decay-weights-only", "--label-smoothing", "0.1", "--class-weights",
        "1,1,1,1,1,2,2,2,2,3"}},
      {"3",
       {"--model", "seq2seq", "--pairs", "200", "--steps", "2", "--batch-size", "8", "--units",
        "16", "--val-pairs", "8"}},
      {"2", {"--model", "lenet", "--images", "64", "--steps", "2", "--freeze", "conv1,fc2"}},
      {"2",
       {"--model", "gpt-small", "--characters", "3000", "--steps", "3", "--batch-size", "8",
        "--layers", "2", "--units", "16", "--length", "12", "--clip", "0", "--fused-update"}},
  };
  int number = 0;
  for (const auto& [ranks, options] : cases) {
    SCOPED_TRACE(options[1]);
    Words one = options, many = options;
    if (one.back() == "--fused-update") one.pop_back();
    one.insert(one.end(), {"--micro-batches", ranks});
    many.insert(many.end(), {"--ranks", ranks, "--shard-optimizer"});
    const std::string name = std::to_string(++number);
    run_both(train(name + "-one", one), train(name + "-many", many));
    EXPECT_EQ(result(name + "-one"), result(name + "-many"));
  }
}

// Buckets hold each gradient once.
TEST_F(Ranks, HaveALaneInTheReport) {
  run(train("run", {"--model", "lenet", "--images", "256", "--steps", "4", "--ranks", "2"}), 0);
  const nlohmann::json page = page_data(read_file(folder_ / "run/report.html"));
  const nlohmann::json lane = page["ranks"];
  EXPECT_EQ(lane["ranks"], 2);
  EXPECT_GT(lane["sum_seconds"], 0);
  EXPECT_GT(lane["wait_seconds"], 0);
  ASSERT_GT(lane["sums"].size(), 1u);
  std::uint64_t gradients = 0, bytes = 0, parameters = 0;
  for (const nlohmann::json& sum : lane["sums"]) {
    const nlohmann::json block = page["blocks"][sum[0].get<std::size_t>()];
    EXPECT_EQ(page["strings"][block[4].get<std::size_t>()], "begin_rank_sum");
    gradients += sum[1].get<std::uint64_t>();
    bytes += sum[2].get<std::uint64_t>();
  }
  for (const StoredTensor& tensor : load_checkpoint(folder_ / "run").checkpoint.weights) {
    ++parameters;
    for_each_piece(tensor, [&](std::uint64_t, auto piece) { bytes -= piece.size(); });
  }
  EXPECT_EQ(gradients, parameters);
  EXPECT_EQ(bytes, 0u);
  run(train("one", {"--model", "lenet", "--images", "256", "--steps", "4"}), 0);
  EXPECT_FALSE(page_data(read_file(folder_ / "one/report.html")).contains("ranks"));
}

TEST_F(Ranks, SayInJsonHowLongSumsTook) {
  const Words words = train("run", {"--model", "mlp", "--images", "256", "--steps", "3", "--json",
                                    "--quiet", "--ranks", "2"});
  const std::string output = run(words, 0).output();
  const nlohmann::json sums = parsed_json(output)["rank_sums"];
  EXPECT_GT(sums["sums"], 0);
  EXPECT_GT(sums["sum_seconds"], 0);
  EXPECT_GT(sums["wait_seconds"], 0);
  ASSERT_EQ(sums["rank_seconds"].size(), 2u);
  for (const nlohmann::json& seconds : sums["rank_seconds"]) EXPECT_GT(seconds, 0);
}

TEST_F(Ranks, ShareAnEvaluationWithoutChangingItsResult) {
  const Words options = {"--model",      "resnet20", "--images", "192",
                         "--batch-size", "8",        "--steps",  "4"};
  Words one = options, many = options;
  one.insert(one.end(), {"--micro-batches", "3"});
  many.insert(many.end(), {"--ranks", "3"});
  run_both(train("one", one), train("many", many));
  const std::string evaluations = "evaluations.jsonl";
  EXPECT_EQ(read_process_file(folder_ / "one" / evaluations),
            read_process_file(folder_ / "many" / evaluations));
}

// Sharing and not sharing the updates, and other numbers of ranks, follow each other.
// One process evaluates all images, though two stored the checkpoint.
TEST_F(Ranks, LeaveACheckpointThatOneProcessEvaluates) {
  run(train("run", {"--model", "lenet", "--images", "128", "--batch-size", "8", "--steps", "4",
                    "--ranks", "2"}),
      0);
  const auto metrics = load_checkpoint(folder_ / "run").checkpoint.position.evaluation->metrics;
  const Outcome evaluated = skyline_program({"evaluate", folder_ / "run", "--json"});
  EXPECT_EQ(evaluated.json()["top1"], metrics.at("top1"));
  EXPECT_EQ(evaluated.json()["loss"], metrics.at("test_loss"));
}

TEST_F(Ranks, MayShareTheUpdatesWhenARunGoesOn) {
  const Words options = {"--model", "mlp",        "--images", "256",         "--batch-size",
                         "16",      "--schedule", "constant", "--optimizer", "adam"};
  Words whole = options, parts = options;
  whole.insert(whole.end(), {"--steps", "9", "--micro-batches", "4"});
  parts.insert(parts.end(), {"--steps", "3", "--ranks", "4", "--shard-optimizer"});
  run_both(train("whole", whole), train("parts", parts));
  const std::string folder = folder_ / "parts";
  const Words resume = {SKYLINE_PROGRAM, "train", "--resume", folder};
  Words two = resume, one = resume;
  two.insert(two.end(), {"--steps", "6", "--ranks", "4"});
  one.insert(one.end(), {"--steps", "9", "--ranks", "1"});
  run(two, 0);
  run(one, 0);
  EXPECT_EQ(result("parts"), result("whole"));
}

TEST_F(Ranks, FastSumsOfTwoAreSums) {
  const Words options = {"--model", "lenet", "--images", "128", "--steps", "4"};
  Words one = options, many = options;
  one.insert(one.end(), {"--micro-batches", "2"});
  many.insert(many.end(), {"--ranks", "2", "--fast-sum"});
  run_both(train("one", one), train("many", many));
  EXPECT_EQ(result("one"), result("many"));
}

TEST_F(Ranks, MayChangeWhenARunGoesOn) {
  const Words options = {"--model", "mlp", "--images", "256", "--batch-size", "16"};
  const auto with = [&](const std::string& name, Words more) {
    more.insert(more.end(), options.begin(), options.end());
    return train(name, more);
  };
  run(with("whole", {"--steps", "6", "--schedule", "constant", "--ranks", "2"}), 0);
  run(with("parts", {"--steps", "3", "--schedule", "constant", "--ranks", "2"}), 0);
  const std::string folder = folder_ / "parts";
  run({SKYLINE_PROGRAM, "train", "--resume", folder, "--steps", "6", "--ranks", "1"}, 0);
  EXPECT_EQ(result("parts"), result("whole"));
  const Program refused =
      run({SKYLINE_PROGRAM, "train", "--resume", folder, "--steps", "8", "--ranks", "3"}, 2);
  EXPECT_THAT(refused.output(), HasSubstr("--ranks 3: a step of the run to resume has 2 batches"));
}

TEST_F(Ranks, ADeadOrSilentOneIsNamedEndsAllAndTheLastCheckpointStands) {
  for (const auto& [signal, message] :
       {std::pair(SIGKILL, "process rank 1"),
        std::pair(SIGSTOP, "error: rank 1 does not answer: all ranks end")}) {
    const std::string name = "run" + std::to_string(signal);
    Program program(long_run(name), folder_ / "output");
    wait_for_step(name, 5);
    kill(rank_of(name, 1), signal);
    EXPECT_NE(program.wait(), 0);
    EXPECT_THAT(program.output(), HasSubstr(message));
    EXPECT_GE(load_checkpoint(folder_ / name).checkpoint.position.step, 4);
  }
}

// Runs its arguments on a disk of 2 MiB, which another program fills after five steps.
constexpr const char* kOnSmallDisk = R"sh(
disk=$1 copy=$2
shift 2
mount -t tmpfs -o size=2m none "$disk" || exit 99
"$@" &
program=$!
steps() { grep -c loss "$disk/run/log.jsonl" 2> /dev/null; }
until [ "$(steps)" -ge 5 ] 2> /dev/null; do sleep 0.1; done
cat /dev/zero > "$disk/fill"
wait $program
code=$?
rm "$disk/fill"
cp -r "$disk/run" "$copy"
exit $code
)sh";

TEST_F(Ranks, AFullDiskEndsAllAndTheLastCheckpointStands) {
  const std::string disk = folder_ / "disk", copy = folder_ / "copy";
  fs::create_directories(disk);
  Words words = {"unshare", "-m", "sh", "-c", kOnSmallDisk, "sh", disk, copy};
  for (const std::string& word : long_run("disk/run")) words.push_back(word);
  Program program(words, folder_ / "output");
  const int code = program.wait();
  if (code == 99 || !fs::exists(copy)) GTEST_SKIP() << "cannot mount: " << program.output();
  EXPECT_EQ(code, 1) << program.output();
  EXPECT_THAT(program.output(), HasSubstr("No space left on device"));
  EXPECT_GE(load_checkpoint(copy).checkpoint.position.step, 4);
}

TEST_F(Ranks, SaveAfterASignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string name = std::to_string(signal);
    Program program(long_run(name), folder_ / "output");
    wait_for_step(name, 3);
    kill(program.process(), signal);
    EXPECT_EQ(program.wait(), 128 + signal) << program.output();
    std::ifstream log(folder_ / name / "log.jsonl");
    int steps = 0;
    for (std::string line; std::getline(log, line);) ++steps;
    EXPECT_EQ(load_checkpoint(folder_ / name).checkpoint.position.step, steps);
  }
}

TEST_F(Ranks, ThatDifferAreNamed) {
  Words words = {"mpirun", "--oversubscribe", "--bind-to", "none"};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  const auto add = [&](const std::string& batch_size) {
    const Words rank =
        train("run", {"--model", "mlp", "--images", "128", "--batch-size", batch_size});
    words.insert(words.end(), {"-n", "1"});
    words.insert(words.end(), rank.begin(), rank.end());
  };
  add("32");
  words.emplace_back(":");
  add("16");
  Program program(words, folder_ / "output");
  EXPECT_NE(program.wait(), 0);
  EXPECT_THAT(program.output(),
              HasSubstr("error: rank 1: batch_size is 16, but on rank 0 it is 32"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

// A warm-up takes more than the plan. All ranks foresee the same.
TEST_F(Ranks, PlanFromADryRunWithinACapacity) {
  const Words lenet = {"--model", "lenet", "--images", "64", "--batch-size", "8",
                       "--steps", "4",     "--ranks",  "2",  "--json"};
  const auto within = [&](const std::string& name, const std::string& capacity, int exit_code) {
    Words words = lenet;
    words.insert(words.end(), {"--capacity", capacity});
    return run(train(name, words), exit_code).output();
  };
  run(train("free", lenet), 0);
  const std::string refusal = within("none", "4KiB", 2);
  const std::string before = "requested ";
  const std::size_t bytes = refusal.find(before);
  ASSERT_NE(bytes, std::string::npos) << refusal;
  const std::uint64_t least = std::stoull(refusal.substr(bytes + before.size()));
  EXPECT_FALSE(fs::exists(folder_ / "none"));
  EXPECT_THAT(within("below", std::to_string(least - 1) + "B", 2), HasSubstr("out of memory"));
  EXPECT_THAT(within("tight", std::to_string(least) + "B", 0),
              HasSubstr("planned from a dry run instead"));
  EXPECT_EQ(result("tight"), result("free"));
}

TEST_F(Ranks, AProblemOfAllIsSaidOnce) {
  const Program program = run(
      train("run", {"--model", "mlp", "--images", "64", "--batch-size", "33", "--ranks", "2"}), 2);
  const std::string output = program.output();
  const std::size_t first = output.find("error: ");
  ASSERT_NE(first, std::string::npos) << output;
  EXPECT_EQ(output.find("error: ", first + 1), std::string::npos) << output;
  EXPECT_THAT(output, HasSubstr("batches of a step"));
}

TEST(RanksPlans, MustBeThoseOfRank0) {
  require_same_plan(0, 5, 1);  // one of them warms up
  require_same_plan(5, 0, 1);
  require_same_plan(5, 5, 1);
  EXPECT_THROW(require_same_plan(5, 6, 1), std::runtime_error);
  const auto hash = [](std::int64_t batch_size) {
    TrainOptions options;
    options.batch_size = batch_size;
    options.model = "mlp";
    options.data.images = 64;
    options = resolved(options);
    std::ostringstream messages;
    Console console(messages, {});
    const DecidedWorkload decided = decided_workload(options, {}, console);
    const auto run = tests::run_on(decided, options.memory);
    EXPECT_EQ(plan_hash(*run), 0u);
    decided.workload->prepare();
    run->seek({}, 0);
    for (const std::int64_t step : {1, 2}) {
      run->next();
      run->train_step({.learning_rate = 0.1f, .step = step});
    }
    return plan_hash(*run);
  };
  EXPECT_NE(hash(8), 0u);
  EXPECT_EQ(hash(8), hash(8));
  EXPECT_NE(hash(8), hash(16));
}

TEST_F(Ranks, NeedMpirun) {
  const Program program =
      run(train("run", {"--ranks", "2"}), 2, {"PATH=" + folder_.path().string()});
  EXPECT_THAT(program.output(), HasSubstr("mpirun cannot be started: No such file or directory; "
                                          "install openmpi-bin"));
}

TEST_F(Ranks, ThatMakeNoSenseAreWrongUsage) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--ranks", "0"}, "--ranks: 0 is out of range: it must be from 1 to 4096"},
      {{"--ranks", "two"}, "--ranks: 'two' is not a whole number"},
      {{"--ranks", "2", "--lanes", "2"}, "--ranks and --lanes exclude each other"},
      {{"--shard-optimizer"}, "--shard-optimizer is for --ranks and would do nothing here"},
      {{"--fast-sum"}, "--fast-sum is for --ranks and would do nothing here"},
      {{"--ranks", "2", "--bandwidth", "0"}, "--bandwidth: 0 bytes a second carry nothing"},
      {{"--ranks", "2", "--bandwidth", "fast"}, "--bandwidth: "},
      {{"--bandwidth", "1GiB"}, "--bandwidth is for --ranks and would do nothing here"},
      {{"--profile", "none"}, "--profile is for --memory and --ranks: give one of them"},
      {{"--ranks", "2", "--profile", "none"}, "--profile: cannot read"},
  };
  for (const auto& [words, sentence] : cases) {
    EXPECT_THAT(run(train("run", words), 2).output(), HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace skyline
