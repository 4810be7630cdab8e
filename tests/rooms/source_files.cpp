#include "tests/rooms/source_files.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>

namespace skyline {
namespace {

namespace fs = std::filesystem;

// The length of the literal at the start of `text`: "…" or 'c'. 0 if none starts there (the ' in
// 100'000).
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

}  // namespace

bool is_source(const fs::path& path) {
  static const std::set<std::string> endings = {".h", ".cpp", ".cu", ".cuh"};
  return endings.contains(path.extension().string());
}

std::vector<std::string> source_files(const fs::path& root,
                                      const std::vector<std::string>& folders) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (is_source(entry.path()))
        files.push_back(fs::relative(entry.path(), root).generic_string());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::string file_text(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

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

}  // namespace skyline
