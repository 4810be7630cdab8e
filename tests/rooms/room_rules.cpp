#include "tests/rooms/room_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

namespace skyline {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// What a room's sources may include: files of the repository and headers of libraries, by the
// beginnings of their names. Headers of the standard library and of POSIX are free.
struct Room {
  std::string folder;
  Names files;
  Names libraries;
};

// DESIGN.md, section 1. The first room whose folder fits is a file's room.
const std::vector<Room>& rooms() {
  static const std::vector<Room> table = {
      {"memory/device/", {"memory/device/"}, {"fmt/"}},
      {"memory/", {"memory/"}, {"fmt/"}},
      {"framework/",
       {"framework/", "memory/allocator.h", "memory/step_graph.h", "memory/device/"},
       {"fmt/", "nlohmann/", "oneapi/", "omp.h", "thrust/"}},
      {"layers/", {"layers/", "framework/"}, {"fmt/"}},
      {"models/", {"models/", "layers/", "framework/"}, {"fmt/"}},
      {"data/", {"data/"}, {"fmt/", "stb", "zlib.h"}},
      {"train/",
       {"train/", "data/", "models/", "layers/", "framework/", "memory/"},
       {"CLI/", "fmt/", "nlohmann/", "omp.h", "openssl/"}},
  };
  return table;
}

// Every library that some room uses, and those that none should without a row above.
const Names kLibraries = {"CLI/",    "boost/", "fmt/",     "gmock/", "gtest/",  "nlohmann/",
                          "oneapi/", "omp.h",  "openssl/", "stb",    "thrust/", "zlib.h"};
const Names kCudaHeaders = {"cub/", "cublas", "cuda", "cudnn", "curand", "nvrtc", "nvtx"};

// Where host and CUDA compilation meet, by the header's own account.
constexpr const char* kSharedWithCuda = "framework/host_device.h";
constexpr const char* kMain = "train/main.cpp";

bool begins_with_any(const std::string& text, const Names& beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](const std::string& name) { return text.starts_with(name); });
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> endings = {".h", ".cpp", ".cu", ".cuh"};
  return endings.contains(path.extension().string());
}

bool is_cuda_file(const fs::path& path) {
  return path.extension() == ".cu" || path.extension() == ".cuh" ||
         path.stem().string().find("_cuda") != std::string::npos ||
         path.generic_string().starts_with("framework/cuda/") ||
         path.generic_string().starts_with("memory/device/cuda_");
}

const Room* room_of(const std::string& file) {
  const auto found = std::ranges::find_if(
      rooms(), [&](const Room& room) { return file.starts_with(room.folder); });
  return found == rooms().end() ? nullptr : &*found;
}

std::vector<std::string> source_files(const fs::path& root) {
  std::vector<std::string> files;
  for (const Room& room : rooms()) {
    if (!fs::is_directory(root / room.folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / room.folder)) {
      const std::string file = fs::relative(entry.path(), root).generic_string();
      if (is_source(entry.path()) && room_of(file) == &room) files.push_back(file);
    }
  }
  std::ranges::sort(files);
  return files;
}

// The length of the literal at the start of `text`: "…" or 'c'; 0 where none starts (the ' in
// 100'000). Raw strings are taken for plain ones.
std::size_t literal_length(std::string_view text) {
  const char quote = text[0];
  if (quote != '"' && quote != '\'') return 0;
  for (std::size_t i = 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == quote) return i + 1;
    if (text[i] == '\\') ++i;
    if (quote == '\'' && i > 2) return 0;
  }
  return 0;
}

// The length of the comment at the start of `text`, without the end of its last line.
std::size_t comment_length(std::string_view text) {
  if (text.starts_with("//")) return std::min(text.find('\n'), text.size());
  if (!text.starts_with("/*")) return 0;
  const auto end = text.find("*/", 2);
  return end == std::string_view::npos ? text.size() : end + 2;
}

// The text without its comments; the ends of lines stay.
std::string without_comments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t comment = comment_length(text);
    const std::size_t kept = comment > 0 ? 0 : std::max<std::size_t>(literal_length(text), 1);
    result += text.substr(0, kept);
    const auto lines = std::ranges::count(text.substr(0, comment), '\n');
    result.append(static_cast<std::size_t>(lines), '\n');
    text.remove_prefix(comment + kept);
  }
  return result;
}

// The rules for one file, line by line.
class FileCheck {
 public:
  FileCheck(std::string file, std::vector<Violation>& violations)
      : file_(std::move(file)), room_(*room_of(file_)), violations_(violations) {}

  void check(const std::string& text) {
    std::istringstream lines(without_comments(text));
    for (std::string line; std::getline(lines, line); ++number_) {
      check_include(line);
      check_cuda(line);
      check_output(line);
    }
  }

 private:
  void report(const std::string& what) {
    violations_.push_back(fmt::format("{}:{}: {}", file_, number_, what));
  }

  void check_include(const std::string& line) {
    static const std::regex include(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
    std::smatch match;
    if (!std::regex_search(line, match, include)) return;
    const std::string header = match[2];
    const bool quoted = match[1] == "\"";
    if (quoted && !begins_with_any(header, room_.files)) {
      const bool from_root = room_of(header) != nullptr || header.starts_with("tests/");
      report(from_root ? fmt::format("{} may not include {}", name(), header)
                       : fmt::format("{} is not written from the repository's root", header));
    }
    if (quoted) return;
    if (begins_with_any(header, kLibraries) && !begins_with_any(header, room_.libraries)) {
      report(fmt::format("{} may not include <{}>", name(), header));
    }
    if (begins_with_any(header, kCudaHeaders) && !is_cuda_file(file_)) {
      report(fmt::format("<{}> belongs into files named *_cuda", header));
    }
  }

  void check_cuda(const std::string& line) {
    static const std::regex condition(R"(^\s*#\s*(if|elif).*CUDA)");
    if (is_cuda_file(file_) || file_ == kSharedWithCuda) return;
    if (std::regex_search(line, condition)) report("#if CUDA outside the CUDA files");
  }

  void check_output(const std::string& line) {
    static const std::regex output(
        R"(\bstd::(cout|cerr|clog|exit|abort|quick_exit)\b|\b(f?printf|f?puts|_exit)\s*\(|fmt::print\b)");
    if (file_ == kMain) return;
    if (std::regex_search(line, output)) report("libraries neither print nor exit");
  }

  std::string name() const { return room_.folder.substr(0, room_.folder.size() - 1); }

  std::string file_;
  const Room& room_;
  std::vector<Violation>& violations_;
  int number_ = 1;
};

}  // namespace

std::vector<Violation> room_violations(const fs::path& root) {
  std::vector<Violation> violations;
  for (const std::string& file : source_files(root)) {
    std::ifstream stream(root / file);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    FileCheck(file, violations).check(text);
  }
  return violations;
}

std::size_t room_files(const fs::path& root) { return source_files(root).size(); }

}  // namespace skyline
