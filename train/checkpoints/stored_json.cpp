#include "train/checkpoints/stored_json.h"

#include <nlohmann/json.hpp>
#include <utility>

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

}  // namespace skyline
