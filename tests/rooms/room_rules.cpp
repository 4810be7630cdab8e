#include "tests/rooms/room_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "tests/rooms/allowed_includes.h"
#include "tests/rooms/source_files.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

const Names kRooms = {"data", "framework", "layers", "memory", "models", "train"};
const Names kCudaHeaders = {"cub/", "cublas", "cuda", "cudnn", "curand", "nvrtc", "nvtx"};
const Names kHeavyHeaders = {"nlohmann/json.hpp", "CLI/"};

// The one header that host and CUDA compilation share.
constexpr const char* kSharedWithCuda = "framework/host_device.h";
// The one file through which JSON is read.
constexpr const char* kJsonParser = "memory/formats/json_reader.cpp";
// The program, and what becomes another program, speaks where the program no longer can, or ends it
// as the C library would.
const Names kProcesses = {"train/main.cpp", "train/processor.cpp", "train/ranks/rank_launch.cpp",
                          "train/commands/run_command.cpp", "memory/interpose/program_memory.cpp"};

bool begins_with_any(const std::string& text, const Names& beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](const std::string& name) { return text.starts_with(name); });
}

bool is_cuda_file(const fs::path& path) {
  const std::string file = path.generic_string();
  return path.extension() == ".cu" || path.extension() == ".cuh" ||
         path.stem().string().find("_cuda") != std::string::npos ||
         file.starts_with("framework/cuda/") || file.starts_with("memory/device/cuda_") ||
         file.find("/cudnn/") != std::string::npos;
}

const AllowedIncludes& allowed() {
  static const AllowedIncludes table(SKYLINE_ALLOWED_INCLUDES);
  return table;
}

// Checks one file, line by line.
class FileCheck {
 public:
  FileCheck(const std::string& file, std::vector<Violation>& violations)
      : file_(file),
        folder_(fs::path(file).parent_path().generic_string()),
        violations_(violations) {}

  void check(const std::string& text) {
    std::istringstream lines(without_comments(text));
    for (std::string line; std::getline(lines, line); ++number_) {
      if (line.find('#') != std::string::npos) {
        check_include(line);
        check_cuda(line);
      }
      check_output(line);
      check_json(line);
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
    if (match[1] == "\"") {
      check_file(match[2]);
    } else {
      check_library(match[2]);
    }
  }

  void check_file(const std::string& header) {
    const std::string room = header.substr(0, header.find('/'));
    if (room != "tests" && std::ranges::find(kRooms, room) == kRooms.end()) {
      report(fmt::format("{} is not written from the repository's root", header));
    } else if (!allowed().file(folder_, header)) {
      report(fmt::format("{} may not include {}", folder_, header));
    }
  }

  void check_library(const std::string& header) {
    includes_json_ = includes_json_ || header == "nlohmann/json.hpp";
    if (!allowed().permits_library(folder_, header)) {
      report(fmt::format("{} may not include <{}>", folder_, header));
    }
    if (file_.ends_with(".h") && begins_with_any(header, kHeavyHeaders)) {
      report(fmt::format("<{}> is too expensive for a header", header));
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
    if (std::ranges::find(kProcesses, file_) != kProcesses.end()) return;
    if (std::regex_search(line, output)) report("libraries neither print nor exit");
  }

  // The library's types have many names, so its functions are known by theirs.
  void check_json(const std::string& line) {
    static const std::regex parser(
        R"re(::(parse|sax_parse|accept|from_(cbor|msgpack|ubjson|bjdata|bson))\s*\(|"_json|>>\s*\w*json\b)re",
        std::regex::icase);
    if (!includes_json_ || file_ == kJsonParser) return;
    if (std::regex_search(line, parser)) report("JSON is read by memory/formats/json_reader.h");
  }

  std::string file_;
  std::string folder_;
  bool includes_json_ = false;
  std::vector<Violation>& violations_;
  int number_ = 1;
};

}  // namespace

std::vector<Violation> room_violations(const fs::path& root) {
  std::vector<Violation> violations;
  for (const std::string& file : source_files(root, kRooms)) {
    FileCheck(file, violations).check(file_text(root / file));
  }
  return violations;
}

std::size_t room_files(const fs::path& root) { return source_files(root, kRooms).size(); }

}  // namespace skyline
