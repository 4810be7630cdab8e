#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace skyline {

// A folder that stays open, so that writing into it goes on reaching it wherever it is moved and
// never makes another of its name.
//
//   const OpenFolder folder("runs/x");
//   write_atomically(folder.own("report.html"), page);
class OpenFolder {
 public:
  // Throws WriteError.
  explicit OpenFolder(std::filesystem::path path);
  OpenFolder(OpenFolder&& other) noexcept;
  OpenFolder& operator=(OpenFolder&& other) noexcept;
  ~OpenFolder();

  const std::filesystem::path& path() const noexcept { return path_; }  // as given
  // A path that leads to the folder through its descriptor. Without /proc: path().
  const std::filesystem::path& inside() const noexcept { return inside_; }
  // Returns where to write the file or folder `name` in this folder. A link may stand for it that
  // leads to another place in the folder; throws WriteError if it leads out of it or nowhere.
  std::filesystem::path own(std::string_view name) const;
  // Returns a path below inside() as a path below path(), for messages.
  std::filesystem::path shown(const std::filesystem::path& path) const;

  // True while path() leads to this folder.
  bool in_place() const;
  // Returns where the folder lies now; nothing if it was removed.
  std::optional<std::filesystem::path> place() const;

 private:
  std::filesystem::path path_, inside_;
  int folder_ = -1;
};

}  // namespace skyline
