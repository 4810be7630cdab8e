#include "tests/rooms/tree_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <sstream>

#include "tests/rooms/source_files.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kCodeFolders = {"data",   "framework", "layers", "memory",
                                               "models", "tests",     "train"};
constexpr std::ptrdiff_t kSubjectCharacters = 72;

struct CommandResult {
  int status = 0;
  std::string output;  // standard output and error
};

CommandResult run_in(const fs::path& folder, const std::string& command) {
  const std::string line = fmt::format("cd '{}' && {{ {}; }} 2>&1", folder.string(), command);
  FILE* pipe = popen(line.c_str(), "r");
  CommandResult result;
  std::array<char, 4096> part;
  for (std::size_t count; (count = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    result.output.append(part.data(), count);
  }
  result.status = pclose(pipe);
  return result;
}

}  // namespace

std::vector<Violation> long_sources(const fs::path& root, std::size_t most) {
  std::vector<Violation> violations;
  for (const std::string& file : source_files(root, kCodeFolders)) {
    if (file.starts_with("tests/")) continue;
    const std::string text = file_text(root / file);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if (lines <= most) continue;
    violations.push_back(fmt::format("{}: {} lines, at most {}", file, lines, most));
  }
  return violations;
}

std::vector<Violation> format_violations(const fs::path& root) {
  std::string command = "clang-format --dry-run -Werror";
  for (const std::string& file : source_files(root, kCodeFolders)) command += ' ' + file;
  const CommandResult result = run_in(root, command);
  if (result.status == 0) return {};
  std::vector<Violation> violations;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error:") != std::string::npos) violations.push_back(line);
  }
  if (violations.empty()) violations.push_back(result.output);  // the tool did not run
  return violations;
}

std::optional<std::string> last_subject(const fs::path& root) {
  const CommandResult result = run_in(root, "git log -1 --format=%s");
  if (result.status != 0) return std::nullopt;
  return result.output.substr(0, result.output.find('\n'));
}

bool fits_subject(const std::string& subject) {
  const auto starts_character = [](char byte) { return (byte & 0xC0) != 0x80; };  // UTF-8
  return std::ranges::count_if(subject, starts_character) <= kSubjectCharacters;
}

}  // namespace skyline
