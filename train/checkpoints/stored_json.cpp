#include "train/checkpoints/stored_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "memory/formats/json_reader.h"
#include "train/checkpoints/atomic_file.h"
#include "train/cli/usage_error.h"

namespace skyline {

using Json = nlohmann::ordered_json;

StoredJson::StoredJson() : StoredJson(Json::object()) {}
StoredJson::StoredJson(const Json& value) : value_(std::make_unique<Json>(value)) {}
StoredJson::StoredJson(const StoredJson& other) : StoredJson(*other.value_) {}
StoredJson::StoredJson(StoredJson&& other) noexcept = default;
StoredJson::~StoredJson() = default;

StoredJson& StoredJson::operator=(StoredJson other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

bool StoredJson::operator==(const StoredJson& other) const { return *value_ == *other.value_; }

StoredJson read_stored_json(const std::filesystem::path& file) {
  const auto damaged = [&file](const char* why) {
    return UsageError(fmt::format("{} is damaged: it {}", file.string(), why));
  };
  try {
    const Json json = read_ordered_json(read_file(file));
    if (json.is_object()) return StoredJson(json);
  } catch (const JsonError& error) {
    throw damaged(error.what());
  }
  throw damaged("is no JSON object");
}

}  // namespace skyline
