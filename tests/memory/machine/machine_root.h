#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace skyline {

// A folder with files as /proc and /sys have them; the destructor removes it.
class MachineRoot {
 public:
  MachineRoot() {
    std::string name = std::filesystem::temp_directory_path() / "skyline_machine_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~MachineRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MachineRoot(const MachineRoot&) = delete;
  MachineRoot& operator=(const MachineRoot&) = delete;

  const std::filesystem::path& path() const { return path_; }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace skyline
