#pragma once

#include <string>

#include "train/report/report.h"

namespace skyline {

// The data of the page as one JSON object that may stand inside a <script> element: every '<' is
// written as an escape. Blocks are arrays [lower, upper, bytes, offset, op, layer, phase, category,
// id] whose texts are indices into "strings". Unknown figures are null. Without lines over the
// steps there is no "steps"; a line's reserved bytes are [step, bytes] wherever they change, two
// lists. Throws PlanMismatch as render_report does.
std::string report_json(const ReportData& data);

}  // namespace skyline
