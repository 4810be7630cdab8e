#include "train/report/page.h"

namespace skyline {

std::string filled_page(std::string_view page_template,
                        const std::map<std::string_view, std::string_view>& values) {
  std::string page;
  for (std::size_t begin; (begin = page_template.find("{{")) != page_template.npos;) {
    const std::size_t end = page_template.find("}}", begin);
    page += page_template.substr(0, begin);
    page += values.at(page_template.substr(begin + 2, end - begin - 2));
    page_template.remove_prefix(end + 2);
  }
  return page.append(page_template);
}

std::string escaped_html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string without_markup(std::string_view json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace skyline
