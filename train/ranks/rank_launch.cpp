#include "train/ranks/rank_launch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/cli/usage_error.h"

namespace skyline {
namespace {

constexpr const char* kNoMpi = "install openmpi-bin and libopenmpi-dev and build again";

// What launchers tell the processes that they start: Open MPI's, others' by PMI, Slurm's.
constexpr const char* kSizeVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                          "SLURM_STEP_NUM_TASKS"};

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size(); at += words.back().size() + 1) {
    words.emplace_back(text.c_str() + at);
  }
  if (!words.empty()) words.front() = "/proc/self/exe";
  return words;
}

std::unique_ptr<RankTransport> connect() {
  void* const module = dlopen(SKYLINE_MPI_MODULE, RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) throw UsageError(fmt::format("--ranks: {}; {}", dlerror(), kNoMpi));
  const auto connect =
      reinterpret_cast<RankTransport* (*)()>(dlsym(module, "skyline_connect_ranks"));
  return std::unique_ptr<RankTransport>(connect());
}

// Rank 0 speaks for all: what the others print as a result is dropped.
void drop_output() {
  std::fflush(stdout);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
}

}  // namespace

std::size_t launched_ranks() {
  for (const char* const variable : kSizeVariables) {
    const char* const value = std::getenv(variable);
    if (value == nullptr) continue;
    std::size_t ranks = 0;
    std::from_chars(value, value + std::strlen(value), ranks);
    return ranks;
  }
  return 0;
}

void launch_ranks(std::int64_t ranks) {
  if (std::string_view(SKYLINE_MPI_MODULE).empty()) {
    throw UsageError(fmt::format("--ranks: this build has no MPI: {}", kNoMpi));
  }
  std::vector<std::string> words = {
      "mpirun", "--quiet", "-n", fmt::to_string(ranks), "--bind-to", "none", "--oversubscribe"};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  // After a signal, ranks have a minute to save before they are killed.
  words.insert(words.end(), {"--mca", "odls_base_sigkill_timeout", "60"});
  char executable[4096] = {};
  if (readlink("/proc/self/exe", executable, sizeof(executable) - 1) < 0) {
    throw UsageError("--ranks: /proc/self/exe cannot be read");
  }
  std::vector<std::string> own = own_command_line();
  own.front() = executable;
  words.insert(words.end(), own.begin(), own.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  throw UsageError(
      fmt::format("--ranks: mpirun cannot be started: {}; {}", std::strerror(errno), kNoMpi));
}

std::shared_ptr<RankGroup> join_ranks() {
  // Ends with the program, after its last message: a group that ends before it was left ends all
  // ranks.
  static std::shared_ptr<RankGroup> joined;
  if (joined) return joined;
  joined = std::make_shared<RankGroup>(RankGroup::Options{
      .connect = connect, .on_silence = [](std::size_t rank) {
        fmt::print(stderr, "error: rank {} does not answer: all ranks end\n", rank);
      }});
  if (joined->rank() != 0) drop_output();
  return joined;
}

void agree(RankGroup& group, const std::string& problem) {
  const std::vector<std::string> problems = group.gather(problem);
  const auto first =
      std::ranges::find_if(problems, [](const std::string& text) { return !text.empty(); });
  if (first == problems.end()) return;
  group.leave();
  if (group.rank() != 0) throw RankStopped();
  const bool same = std::ranges::all_of(problems, [&](const auto& text) { return text == *first; });
  throw UsageError(same ? *first : fmt::format("rank {}: {}", first - problems.begin(), *first));
}

void agree_on(RankGroup& group, const nlohmann::ordered_json& facts) {
  using Json = nlohmann::ordered_json;
  const Json of_rank_0 = Json::parse(group.broadcast(facts.dump()));
  std::string problem;
  for (const auto& [key, value] : of_rank_0.items()) {
    const Json own = facts.value(key, Json(nullptr));
    if (problem.empty() && own != value) {
      problem = fmt::format("{} is {}, but on rank 0 it is {}", key, own.dump(), value.dump());
    }
  }
  agree(group, problem);
}

}  // namespace skyline
