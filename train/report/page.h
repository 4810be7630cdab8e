#pragma once

#include <string_view>

namespace skyline {

// The page's own files, put into the program by the build (page.cpp.in). The template holds the
// marks {{title}}, {{style}}, {{data}} and {{script}}.
extern const std::string_view kPageTemplate;  // page.html
extern const std::string_view kPageStyle;     // page.css
extern const std::string_view kPageScript;    // script/*.js, one after another

}  // namespace skyline
