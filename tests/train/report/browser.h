#pragma once

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/train/temporary_folder.h"

namespace skyline {

// Returns the page after a browser has run its script; empty if no browser runs here. `fragment`
// follows # in the page's address.
inline std::string opened_in_browser(const std::string& page, const std::string& fragment = "") {
  const TemporaryFolder folder;
  const std::string file = folder / "page.html";
  std::ofstream(file) << page;
  const std::string command =
      "timeout 60 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=2000 "
      "--user-data-dir=" +
      (folder / "profile").string() + " --dump-dom 'file://" + file + "#" + fragment +
      "' 2>/dev/null";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  for (int c; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  pclose(pipe);
  return text.find("</html>") == text.npos ? std::string() : text;
}

}  // namespace skyline
