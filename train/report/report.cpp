#include "train/report/report.h"

#include "train/report/page.h"
#include "train/report/report_json.h"

namespace skyline {

std::string render_report(const ReportData& data) {
  const std::string title = escaped_html(data.title), json = report_json(data);
  return filled_page(
      kPageTemplate,
      {{"title", title}, {"style", kPageStyle}, {"script", kPageScript}, {"data", json}});
}

}  // namespace skyline
