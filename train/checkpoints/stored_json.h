#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace skyline {

// A JSON value, initially an empty object. It is held by pointer, so that headers with such members
// do not include the JSON library, which takes two seconds to compile.
class StoredJson {
 public:
  StoredJson();
  StoredJson(const nlohmann::ordered_json& value);
  StoredJson(const StoredJson& other);
  StoredJson(StoredJson&& other) noexcept;
  StoredJson& operator=(StoredJson other) noexcept;
  ~StoredJson();

  nlohmann::ordered_json& operator*() noexcept { return *value_; }
  const nlohmann::ordered_json& operator*() const noexcept { return *value_; }
  nlohmann::ordered_json* operator->() noexcept { return value_.get(); }
  const nlohmann::ordered_json* operator->() const noexcept { return value_.get(); }

  bool operator==(const StoredJson& other) const;

 private:
  std::unique_ptr<nlohmann::ordered_json> value_;  // null only after a move
};

// Reads a file that holds a JSON object, such as arguments.json. Throws std::runtime_error if it
// cannot be read, and UsageError "FILE is damaged: it …".
StoredJson read_stored_json(const std::filesystem::path& file);

}  // namespace skyline
