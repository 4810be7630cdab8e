#pragma once

#include <map>
#include <string>
#include <string_view>

namespace skyline {

// The pages' own files, put into the program by the build (page.cpp.in). A template holds the marks
// {{title}}, {{style}}, {{data}} and {{script}}.
extern const std::string_view kPageTemplate;         // page.html, the report of a run
extern const std::string_view kPageStyle;            // page.css
extern const std::string_view kPageScript;           // script/*.js, one after another
extern const std::string_view kExplanationTemplate;  // explanation.html, of a plan
extern const std::string_view kExplanationStyle;     // page.css and explanation.css
extern const std::string_view kExplanationScript;
extern const std::string_view kPgmoTemplate;  // pgmo.html, of the paper's figures
extern const std::string_view kPgmoStyle;     // page.css and pgmo.css
extern const std::string_view kPgmoScript;

// Replaces each mark {{name}} of the template; marks inside the values stay as they are.
std::string filled_page(std::string_view page_template,
                        const std::map<std::string_view, std::string_view>& values);

// Text for HTML outside of attributes.
std::string escaped_html(std::string_view text);

// JSON that may stand inside a <script> element: inside a JSON text '<' occurs in strings only,
// where an escape means the same; it ends neither the script element nor starts a comment there.
std::string without_markup(std::string_view json);

}  // namespace skyline
