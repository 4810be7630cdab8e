#pragma once

#include <string>
#include <string_view>

namespace skyline {

// The files of one page, embedded by the build (embed_page.cmake, page_files.cpp.in).
struct PageFiles {
  std::string_view body;    // the content of <body> below its heading
  std::string_view style;   // CSS
  std::string_view script;  // JavaScript
};
extern const PageFiles kReportPage;       // the report of a run
extern const PageFiles kExplanationPage;  // how a plan was made
extern const PageFiles kPgmoPage;         // PGMO's figures
extern const PageFiles kOllaPage;         // OLLA's steps, before and after ordering
extern const PageFiles kLanesPage;        // a step on lanes: bytes against seconds
extern const PageFiles kRanksPage;        // a step on more and more ranks
extern const PageFiles kRunsPage;         // two runs and what differs

// Makes one self-contained HTML page, which loads nothing from elsewhere. Its script reads `json`
// from the element "data". Title and JSON may contain any text.
std::string render_page(const PageFiles& page, std::string_view title, std::string_view json);

}  // namespace skyline
