#include "train/cli/usage_error.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace skyline {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool begins_with(std::string_view word, std::string_view beginning) {
  return beginning.size() <= word.size() &&
         std::equal(beginning.begin(), beginning.end(), word.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

// Two letters are enough to abbreviate a word.
bool abbreviates(std::string_view a, std::string_view b) {
  return std::min(a.size(), b.size()) >= 2 && (begins_with(a, b) || begins_with(b, a));
}

std::string joined(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows i − 2, i − 1 and i of the table over all prefixes of a.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> known) {
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t longer = std::max(name.size(), candidate.size());
    const bool near = distance <= std::max<std::size_t>(1, longer / 3) && distance < longer;
    if (!near && !abbreviates(name, candidate)) continue;
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string> known) {
  std::string text = "unknown " + std::string(kind) + " '" + std::string(name) + "'; ";
  if (const auto near = nearest(name, known)) return text + "did you mean '" + *near + "'?";
  return text + (known.empty() ? "there are none" : "known are: " + joined(known));
}

}  // namespace skyline
