#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <string>

#include "tests/train/temporary_folder.h"

namespace skyline {

inline constexpr const char* kNoBrowser = "no chromium that runs here to open the page in";

// Returns the page after a browser has run its script; empty if no browser runs here. `fragment`
// follows # in the page's address.
inline std::string opened_once(const std::string& page, const std::string& fragment) {
  const TemporaryFolder folder;
  const std::string file = folder / "page.html";
  std::ofstream(file) << page;
  const std::string command =
      "timeout 60 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=10000 "
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

// The same. The browser's clock may run out before it has drawn the page, so the page is opened
// again, up to ten times, until it has the text `until`.
inline std::string opened_in_browser(const std::string& page, const std::string& fragment = "",
                                     const std::string& until = "") {
  std::string opened;
  for (int times = 0; times < 10; ++times) {
    opened = opened_once(page, fragment);
    if (opened.empty() || opened.find(until) != opened.npos) break;
  }
  return opened;
}

// The same, after `action`, a JavaScript function, has returned true: it is called every 100 ms, so
// it need not know when the page is drawn. What it throws counts as false.
inline std::string opened_after(const std::string& action, std::string page) {
  const std::string script = "<script>const acting = setInterval(() => { try { if (!(" + action +
                             ")()) return; } catch { return; } clearInterval(acting); "
                             "document.body.dataset.acted = 'yes'; }, 100);</script>";
  page.insert(page.rfind("</body>"), script);
  return opened_in_browser(page, "", "data-acted");
}

// Expects these texts in a page that a browser opened; skips the test if none runs here.
inline void expect_in(const std::string& opened, std::initializer_list<const char*> texts) {
  if (opened.empty()) GTEST_SKIP() << kNoBrowser;
  for (const char* text : texts) EXPECT_THAT(opened, testing::HasSubstr(text));
}

// Expects these texts in the page after its script ran.
inline void expect_in_browser(const std::string& page, std::initializer_list<const char*> texts) {
  expect_in(opened_in_browser(page), texts);
}

}  // namespace skyline
