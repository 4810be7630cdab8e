#include "train/lab/ranks/rank_page.h"

#include <nlohmann/json.hpp>

#include "train/report/page.h"

namespace skyline {

std::string rank_page(std::span<const RankCurve> curves, const std::string& title) {
  nlohmann::ordered_json data = to_json(curves.front().answer);
  data.erase("rows");
  for (const RankCurve& curve : curves) {
    data["curves"].push_back({{"name", curve.name}, {"rows", to_json(curve.answer.steps)}});
  }
  return render_page(kRanksPage, title, data.dump());
}

}  // namespace skyline
