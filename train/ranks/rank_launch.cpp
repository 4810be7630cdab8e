#include "train/ranks/rank_launch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "memory/formats/json_reader.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

constexpr const char* kExitCodeFile = "SKYLINE_EXIT_CODE_FILE";
constexpr const char* kNoMpi = "install openmpi-bin and libopenmpi-dev and build again";

// Launchers tell the processes that they start their number and rank in variables: Open MPI's,
// those of PMI, Slurm's.
constexpr std::array<const char*, 3> kSizes = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                               "SLURM_STEP_NUM_TASKS"};
constexpr std::array<const char*, 3> kRanks = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

// The number in the first of these variables that is set, or 0.
std::size_t number_in(std::span<const char* const> variables) {
  for (const char* const variable : variables) {
    const char* const value = std::getenv(variable);
    if (value == nullptr) continue;
    std::size_t number = 0;
    std::from_chars(value, value + std::strlen(value), number);
    return number;
  }
  return 0;
}

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size(); at += words.back().size() + 1) {
    words.emplace_back(text.c_str() + at);
  }
  if (!words.empty()) words.front() = std::filesystem::read_symlink("/proc/self/exe").string();
  return words;
}

std::unique_ptr<RankTransport> connect() {
  void* const module = dlopen(library_file(SKYLINE_MPI_MODULE).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) throw UsageError(fmt::format("--ranks: {}; {}", dlerror(), kNoMpi));
  const auto connect =
      reinterpret_cast<RankTransport* (*)()>(dlsym(module, "skyline_connect_ranks"));
  return std::unique_ptr<RankTransport>(connect());
}

// Becomes mpirun, in a process group of its own: Ctrl-C reaches only the parent, which tells the
// ranks to save. When the parent is killed, the ranks end, too.
[[noreturn]] void become_launcher(std::int64_t ranks, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) std::_Exit(1);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  std::vector<std::string> words = {"mpirun",    "-n",   fmt::to_string(ranks),
                                    "--bind-to", "none", "--oversubscribe"};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  const std::vector<std::string> own = own_command_line();
  words.insert(words.end(), own.begin(), own.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  fmt::print(stderr, "error: --ranks: mpirun cannot be started: {}; {}\n", std::strerror(errno),
             kNoMpi);
  std::_Exit(2);
}

// Rank 0 speaks for all: what the others print as a result is dropped.
void drop_output() {
  std::fflush(stdout);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
}

}  // namespace

std::filesystem::path library_file(const std::filesystem::path& built) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path installed =
      program.parent_path().parent_path() / SKYLINE_LIBRARY_FOLDER / "skyline" / built.filename();
  return std::filesystem::exists(installed) ? installed : built;
}

std::size_t launched_ranks() { return number_in(kSizes); }

void launch_ranks(std::int64_t ranks) {
  if (std::string_view(SKYLINE_MPI_MODULE).empty()) {
    throw UsageError(fmt::format("--ranks: this build has no MPI: {}", kNoMpi));
  }
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t parent = getpid();
  std::string file = std::filesystem::temp_directory_path() / "skyline_exit_code_XXXXXX";
  if (const int opened = mkstemp(file.data()); opened >= 0) close(opened);
  setenv(kExitCodeFile, file.c_str(), 1);
  const pid_t launcher = fork();
  if (launcher < 0) {
    throw UsageError(fmt::format("--ranks: no new process: {}", std::strerror(errno)));
  }
  if (launcher == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    become_launcher(ranks, parent);
  }
  int interrupted_by = 0, signal = 0, status = 0;
  while (waitpid(launcher, &status, WNOHANG) == 0) {
    sigwait(&signals, &signal);
    if (signal == SIGCHLD) continue;
    kill(launcher, interrupted_by == 0 ? SIGUSR1 : SIGTERM);
    interrupted_by = signal;
  }
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::ifstream(file) >> code;
  std::filesystem::remove(file);
  std::exit(code == 128 + SIGTERM && interrupted_by != 0 ? 128 + interrupted_by : code);
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

int exit_code_of_rank(int code) {
  const char* const file = std::getenv(kExitCodeFile);
  if (file == nullptr || launched_ranks() == 0) return code;
  if (number_in(kRanks) == 0) std::ofstream(file) << code;
  return 0;
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
  const Json of_rank_0 = read_ordered_json(group.broadcast(facts.dump()));
  std::string problem;
  for (const auto& [key, value] : of_rank_0.items()) {
    const Json own = facts.value(key, Json(nullptr));
    if (problem.empty() && own != value) {
      problem = fmt::format("{} is {}, but on rank 0 it is {}", key, own.dump(), value.dump());
    }
  }
  agree(group, problem);
}

std::shared_ptr<CudaRanks> join_cards(RankGroup& group) {
  std::shared_ptr<CudaRanks> cards;
  std::string problem;
  try {
    cards = take_card(group);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  agree(group, problem);
  connect_cards(*cards, group);
  return cards;
}

}  // namespace skyline
