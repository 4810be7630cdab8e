#include "train/report/page.h"

#include <map>

namespace skyline {

extern const std::string_view kPageShell;  // shell.html, in page_files.cpp

namespace {

// Replaces each mark {{name}} of the shell. Marks inside the values stay as they are.
std::string filled(std::string_view shell,
                   const std::map<std::string_view, std::string_view>& values) {
  std::string page;
  for (std::size_t begin; (begin = shell.find("{{")) != shell.npos;) {
    const std::size_t end = shell.find("}}", begin);
    page += shell.substr(0, begin);
    page += values.at(shell.substr(begin + 2, end - begin - 2));
    shell.remove_prefix(end + 2);
  }
  return page.append(shell);
}

std::string replaced(std::string_view text, char from, std::string_view to) {
  std::string result;
  for (const char c : text) {
    if (c == from) {
      result += to;
    } else {
      result += c;
    }
  }
  return result;
}

std::string escaped_html(std::string_view text) {
  return replaced(replaced(replaced(text, '&', "&amp;"), '<', "&lt;"), '>', "&gt;");
}

}  // namespace

std::string render_page(const PageFiles& page, std::string_view title, std::string_view json) {
  // In JSON, '<' occurs only in strings, where its escape means the same. Without it, no text can
  // end the <script> element or begin a comment in it.
  const std::string data = replaced(json, '<', "\\u003c");
  const std::string heading = escaped_html(title);
  return filled(kPageShell, {{"title", heading},
                             {"body", page.body},
                             {"style", page.style},
                             {"script", page.script},
                             {"data", data}});
}

}  // namespace skyline
