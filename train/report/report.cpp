#include "train/report/report.h"

#include <map>
#include <stdexcept>
#include <string_view>

#include "train/report/page.h"
#include "train/report/report_json.h"

namespace skyline {
namespace {

std::string escaped(std::string_view text) {
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

// Replaces each mark {{name}} of the template; marks inside the values stay as they are.
std::string filled(std::string_view text,
                   const std::map<std::string_view, std::string_view>& values) {
  std::string page;
  for (std::size_t begin; (begin = text.find("{{")) != text.npos;) {
    const std::size_t end = text.find("}}", begin);
    page += text.substr(0, begin);
    page += values.at(text.substr(begin + 2, end - begin - 2));
    text.remove_prefix(end + 2);
  }
  return page.append(text);
}

}  // namespace

std::string render_report(const ReportData& data) {
  const std::string title = escaped(data.title), json = report_json(data);
  return filled(kPageTemplate,
                {{"title", title}, {"style", kPageStyle}, {"script", kPageScript}, {"data", json}});
}

}  // namespace skyline
