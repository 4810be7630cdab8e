#include "memory/formats/json_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "memory/errors.h"

namespace skyline {
namespace {

// A key as messages show it: shortened, on one line.
std::string shown(std::string_view key) {
  constexpr std::string_view kBefore = "got \"";
  const std::string cell = shown_cell(key);
  return cell.substr(kBefore.size(), cell.size() - kBefore.size() - 1);
}

// Builds the value that the library's own parser would, except that this would follow any depth and
// keep the last of equal keys in silence. (Its callbacks, which could refuse both, take the square
// of the time.)
template <typename Json>
class JsonBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBuilder(std::size_t text_bytes) : text_bytes_(text_bytes) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& text) override { return add(std::move(text)); }
  bool binary(typename Json::binary_t&) override { return true; }  // not in texts

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    const auto [member, is_new] = open_.back()->emplace(name, nullptr);
    if (!is_new) throw JsonError(fmt::format("has the key '{}' twice", shown(name)));
    member_ = &*member;
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    constexpr int kOutOfRange = 406;  // the library's number for it
    throw JsonError(error.id == kOutOfRange ? "holds a number out of range"
                                            : fmt::format("is not JSON at byte {}", byte));
  }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (!open_.back()->is_array()) {
      *member_ = std::move(value);
      return member_;
    }
    open_.back()->push_back(std::move(value));
    return &open_.back()->back();
  }

  bool open(Json value) {
    if (open_.size() >= kDeepestJson) {
      throw JsonError(fmt::format("is nested deeper than {} levels (it has {} bytes)", kDeepestJson,
                                  text_bytes_));
    }
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t text_bytes_;
  Json root_;
  std::vector<Json*> open_;  // lists and objects, from the outermost
  Json* member_ = nullptr;   // the innermost object's, whose value comes next
};

template <typename Json>
Json built(std::string_view text) {
  JsonBuilder<Json> builder(text.size());
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace

nlohmann::json read_json(std::string_view text) { return built<nlohmann::json>(text); }

nlohmann::ordered_json read_ordered_json(std::string_view text) {
  return built<nlohmann::ordered_json>(text);
}

nlohmann::ordered_json ordered_json_or_null(std::string_view text) {
  try {
    return read_ordered_json(text);
  } catch (const JsonError&) {
    return nullptr;
  }
}

}  // namespace skyline
