#pragma once

#include <string>
#include <string_view>

namespace skyline {

// The files of one page, embedded by the build (embed_page.cmake, page_files.cpp.in). Who fills a
// page declares it.
struct PageFiles {
  std::string_view body;    // the content of <body> below its heading
  std::string_view style;   // CSS
  std::string_view script;  // JavaScript
};

// Makes one self-contained HTML page, which loads nothing from elsewhere. Its script reads `json`
// from the element "data". Title and JSON may contain any text.
std::string render_page(const PageFiles& page, std::string_view title, std::string_view json);

}  // namespace skyline
