#include <nlohmann/json.hpp>

#include "train/lab/pgmo/pgmo.h"
#include "train/report/page.h"

namespace skyline {

std::string pgmo_page(const PgmoReproduction& reproduction) {
  using Json = nlohmann::ordered_json;
  Json data = to_json(reproduction);
  for (std::size_t i = 0; i < reproduction.figures.size(); ++i) {
    const PgmoFigure& figure = reproduction.figures[i];
    const std::string paper = figure_text(figure.unit, figure.paper);
    data["figures"][i]["paper_text"] =
        figure.relation.empty() ? paper : figure.relation + " " + paper;
    data["figures"][i]["ours_text"] = figure.ours ? figure_text(figure.unit, *figure.ours) : "–";
  }
  return render_page(kPgmoPage, "PGMO's figures and ours", data.dump());
}

}  // namespace skyline
