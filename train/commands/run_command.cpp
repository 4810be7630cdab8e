#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "memory/allocators/allocators.h"
#include "memory/interpose/run_options.h"
#include "memory/session/session.h"
#include "train/commands/commands.h"
#include "train/ranks/rank_launch.h"

namespace skyline {
namespace {

struct RunArguments {
  RunOptions options;
  bool no_period = false, children = false;
  std::vector<std::string> command;
};

std::vector<JsonKey> program_keys(const std::string& prefix) {
  std::vector<JsonKey> keys;
  for (const RunFigure& figure : figures({})) {
    Unit unit = Unit::kText;
    for (const Unit one : {kBytes, kCount, kSeconds}) {
      if (unit_name(one) == figure.unit) unit = one;
    }
    keys.push_back({prefix + figure.name, unit, figure.meaning});
  }
  return keys;
}

void put_first(const char* variable, const std::filesystem::path& path) {
  const char* const others = std::getenv(variable);
  const std::string rest = others == nullptr || *others == '\0' ? "" : fmt::format(":{}", others);
  setenv(variable, (path.string() + rest).c_str(), 1);
}

// Becomes the command, which ends with this program.
[[noreturn]] void become(const RunArguments& arguments, RunOptions options, pid_t parent) {
  const std::filesystem::path library = library_file(SKYLINE_RUN_LIBRARY);
  put_first("LD_PRELOAD", library);
  put_first("PYTHONPATH", library.parent_path() / "skyline_run_hooks");
  if (!arguments.children) options.process = static_cast<std::uint64_t>(getpid());
  setenv(kRunVariable, options.text().c_str(), 1);
  std::signal(SIGXFSZ, SIG_DFL);  // main() ignores it
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) std::_Exit(1);
  std::vector<char*> words;
  for (const std::string& word : arguments.command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  const int code = errno == ENOENT ? 127 : 126;  // as shells say it
  fmt::print(stderr, "error: cannot run {}: {}\n", words.front(), std::strerror(errno));
  std::_Exit(code);
}

// Ctrl-C is the command's to answer. Returns its exit code, or 128 and the signal that ended it.
int wait_for(pid_t child) {
  const auto interrupt = std::signal(SIGINT, SIG_IGN), quit = std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::signal(SIGINT, interrupt);
  std::signal(SIGQUIT, quit);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

CommandResult run(const RunArguments& arguments, Console& console) {
  if (std::string_view(SKYLINE_RUN_LIBRARY).empty()) {
    throw UsageError("a build with sanitizers has no library that can be preloaded");
  }
  if (const auto library = library_file(SKYLINE_RUN_LIBRARY); !std::filesystem::exists(library)) {
    throw UsageError(fmt::format("the library to preload is missing: '{}'", library.string()));
  }
  RunOptions options = arguments.options;
  for (std::filesystem::path* file : {&options.record, &options.plan, &options.write_trace}) {
    if (!file->empty()) *file = std::filesystem::absolute(*file);
    require_folder_of(*file);
  }
  if (!options.plan.empty() && !std::filesystem::exists(options.plan)) {
    throw UsageError(fmt::format("--plan: no file '{}'", options.plan.string()));
  }
  options.period = !arguments.no_period;
  std::string report_file = std::filesystem::temp_directory_path() / "skyline_run_XXXXXX";
  if (const int opened = mkstemp(report_file.data()); opened >= 0) close(opened);
  if (!arguments.children) options.report = report_file;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become(arguments, options, parent);
  const int code = wait_for(child);
  std::ifstream file(report_file);
  std::string json;
  std::getline(file, json);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(report_file);
  if (!text.empty()) console.say(text.substr(0, text.size() - 1));
  if (text.empty() && !arguments.children) console.say("the program ended without a report");
  return {.json = json.empty() ? "{}" : json, .text = "", .exit_code = code};
}

}  // namespace

CommandRun declare_run(OptionList& list) {
  const auto arguments = std::make_shared<RunArguments>();
  RunOptions& options = arguments->options;
  list.add("COMMAND",
           {.type = "TEXT",
            .each = true,
            .parse = [arguments](const std::string& word) { arguments->command.push_back(word); },
            .is_set = [arguments] { return !arguments->command.empty(); }},
           "Program and its arguments, after --", kRequired);
  list.add("--threshold", some_bytes(options.threshold_bytes, "are no request"),
           "Smaller requests are left to the C library");
  std::vector<std::string> names = names_of(allocator_table());
  names.emplace_back(kPlannedAllocator);
  list.add("--allocator", choice(options.allocator, names, "allocator"),
           "Allocator of the large blocks");
  list.add("--before", integer(options.before, 0, 1'000'000),
           "Steps that the C library serves first, to compare");
  list.add("--no-period", flag(arguments->no_period),
           "Look for no steps; only those that are marked count");
  list.add("--children", flag(arguments->children),
           "Serve the programs that the command starts, too; without a report");
  list.add("--record", path(options.record, "FILE"),
           "Plan nothing; write all large requests into this CSV for `skyline replay`")
      .excludes("--plan")
      .excludes("--write-trace");
  list.add("--write-trace", path(options.write_trace, "FILE"),
           "Write the planned step into this CSV for --plan, `skyline plan` and `skyline replay`");
  list.add("--plan", path(options.plan, "FILE"),
           "Serve steps from the first one on by the plan of this trace of an earlier run");
  list.prints(program_keys);
  return [&list, arguments](Console& console) {
    list.check_rules();
    return run(*arguments, console);
  };
}

}  // namespace skyline
