#include "memory/planners/exact/joined_blocks.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace skyline {
namespace {

struct Tile {
  std::int32_t begin = 0, end = 0;  // sections
  std::int64_t units = 0;
  double ticks = 0;                         // of its longest block
  std::vector<JoinedBlocks::Place> blocks;  // of the original, and their offsets in the tile
};

// Appends the blocks of another tile at an offset in this one.
void add(Tile& tile, const Tile& other, std::int64_t units) {
  for (const auto& place : other.blocks) {
    tile.blocks.push_back({place.block, place.units + units});
  }
  tile.begin = std::min(tile.begin, other.begin);
  tile.end = std::max(tile.end, other.end);
  tile.ticks = std::max(tile.ticks, other.ticks);
}

class TileJoiner {
 public:
  explicit TileJoiner(const ExactProblem& problem) {
    for (std::size_t k = 0; k < problem.size(); ++k) {
      tiles_.push_back({problem.hull[k].begin,
                        problem.hull[k].end,
                        problem.units[k],
                        problem.ticks[k],
                        {{static_cast<std::uint32_t>(k), 0}}});
    }
  }

  std::vector<Tile> join(const Deadline& deadline) {
    while (!passed(deadline) && (join_rows() || join_wheel() || join_stacks())) {
    }
    return std::move(tiles_);
  }

 private:
  template <typename Key>
  void sort_by(Key key) {
    std::stable_sort(tiles_.begin(), tiles_.end(),
                     [&](const Tile& a, const Tile& b) { return key(a) < key(b); });
  }

  // Removes tiles whose blocks were added to others.
  bool remove_empty() {
    return std::erase_if(tiles_, [](const Tile& tile) { return tile.blocks.empty(); }) > 0;
  }

  static void move_into(Tile& tile, Tile& other, std::int64_t units) {
    add(tile, other, units);
    other.blocks.clear();
  }

  bool join_rows() {
    sort_by([](const Tile& tile) { return std::pair(tile.units, tile.begin); });
    for (std::size_t k = 0; k < tiles_.size(); ++k) {
      if (tiles_[k].blocks.empty()) continue;
      while (Tile* next = find(tiles_[k].units, tiles_[k].end)) move_into(tiles_[k], *next, 0);
    }
    return remove_empty();
  }

  // Returns a tile of this size that begins here, of tiles sorted by both; null if there is none.
  Tile* find(std::int64_t units, std::int32_t begin) {
    auto at = std::lower_bound(
        tiles_.begin(), tiles_.end(), std::pair(units, begin),
        [](const Tile& tile, const auto& key) { return std::pair(tile.units, tile.begin) < key; });
    for (; at != tiles_.end() && at->units == units && at->begin == begin; ++at) {
      if (!at->blocks.empty()) return &*at;
    }
    return nullptr;
  }

  bool join_wheel() {
    sort_by([](const Tile& tile) { return std::tuple(tile.begin, tile.end, tile.units); });
    for (std::size_t low = 0; low < tiles_.size(); ++low) {
      for (std::size_t up = low; up > 0 && tiles_[up - 1].begin == tiles_[low].begin; --up) {
        if (join_around(tiles_[low], tiles_[up - 1])) return remove_empty();
      }
    }
    return false;
  }

  // The tiles that begin here, of tiles sorted by begin, then end; all, or those that also end
  // there.
  std::span<Tile> tiles_at(std::int32_t begin) {
    return std::ranges::equal_range(tiles_, begin, {}, &Tile::begin);
  }
  std::span<Tile> tiles_at(std::int32_t begin, std::int32_t end) {
    return std::ranges::equal_range(tiles_at(begin), end, {}, &Tile::end);
  }

  // Seeks three tiles with which these make a wheel:
  //   left  | top
  //   left  | centre | right
  //   bottom         | right
  bool join_around(Tile& bottom, Tile& left) {
    if (left.end >= bottom.end) return false;
    for (Tile& centre : tiles_at(left.end, bottom.end)) {
      for (Tile& top : tiles_at(left.end)) {
        if (top.units + centre.units != left.units || top.end <= bottom.end) continue;
        for (Tile& right : tiles_at(bottom.end, top.end)) {
          if (right.units != bottom.units + centre.units) continue;
          move_into(bottom, left, bottom.units);
          move_into(bottom, centre, bottom.units);
          move_into(bottom, right, 0);
          move_into(bottom, top, right.units);
          bottom.units = right.units + top.units;
          return true;
        }
      }
    }
    return false;
  }

  bool join_stacks() {
    sort_by([](const Tile& tile) {
      return std::tuple(tile.end - tile.begin, tile.begin, -tile.units);
    });
    std::int32_t sections = 0;
    for (std::size_t first = 0, next; first < tiles_.size(); first = next) {
      Tile& tile = tiles_[first];
      if (sections > 0 && tile.end - tile.begin > sections) break;
      for (next = first + 1; next < tiles_.size(); ++next) {
        Tile& other = tiles_[next];
        if (other.begin != tile.begin || other.end != tile.end) break;
        move_into(tile, other, tile.units);
        tile.units += other.units;
        sections = tile.end - tile.begin;
      }
    }
    return remove_empty();
  }

  std::vector<Tile> tiles_;
};

}  // namespace

JoinedBlocks join_blocks(const ExactProblem& problem, const Deadline& deadline) {
  JoinedBlocks joined{.problem = {.sections = problem.sections, .unit_bytes = problem.unit_bytes},
                      .places = std::vector<JoinedBlocks::Place>(problem.size())};
  const bool possible = problem.size() <= kMostJoined && !problem.has_gaps && !problem.has_fixed &&
                        problem.alignment.empty();
  ExactProblem& few = joined.problem;
  for (const Tile& tile : possible ? TileJoiner(problem).join(deadline) : std::vector<Tile>()) {
    const auto number = static_cast<std::uint32_t>(few.size());
    for (const auto& [block, units] : tile.blocks) joined.places[block] = {number, units};
    few.blocks.push_back(number);
    few.units.push_back(tile.units);
    few.fixed_units.push_back(ExactProblem::kFree);
    few.ticks.push_back(tile.ticks);
    few.hull.push_back({tile.begin, tile.end});
    few.first_part.push_back(number);
  }
  few.first_part.push_back(static_cast<std::uint32_t>(few.size()));
  few.parts = few.hull;
  few.stacked_units = few.units;
  few.number_kinds();
  return joined;
}

}  // namespace skyline
