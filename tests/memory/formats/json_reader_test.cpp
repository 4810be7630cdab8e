#include "memory/formats/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace skyline {
namespace {

std::string refusal(const std::string& text) {
  try {
    read_json(text);
  } catch (const JsonError& error) {
    EXPECT_TRUE(ordered_json_or_null(text).is_null());
    EXPECT_THAT([&] { read_ordered_json(text); }, testing::ThrowsMessage<JsonError>(error.what()));
    return error.what();
  }
  return "accepted";
}

std::string repeated(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

TEST(JsonReader, BuildsWhatTheLibraryBuilds) {
  for (const char* text :
       {"null", "true", "-3", "18446744073709551615", "18446744073709551616", "0.1", "1e-320",
        R"("\u00e9\n")", "[]", "{}", R"([1, [], {"b": [2, {"c": null}], "a": {}}, "x"])",
        R"({"b": 1, "a": [false, [3.5, "y"], {}], "": {"b": 2}})"}) {
    EXPECT_EQ(read_json(text), nlohmann::json::parse(text)) << text;
    EXPECT_EQ(read_ordered_json(text).dump(), nlohmann::ordered_json::parse(text).dump()) << text;
    EXPECT_EQ(ordered_json_or_null(text), nlohmann::ordered_json::parse(text)) << text;
  }
}

TEST(JsonReader, SaysWhyATextIsRefused) {
  EXPECT_EQ(refusal(""), "is not JSON at byte 1");
  EXPECT_EQ(refusal("[1,]"), "is not JSON at byte 4");
  EXPECT_EQ(refusal("{} {}"), "is not JSON at byte 4");
  EXPECT_EQ(refusal("\"\xff\""), "is not JSON at byte 2");
  EXPECT_EQ(refusal("[1e999]"), "holds a number out of range");
  EXPECT_EQ(refusal(R"({"a": {"b": 1, "b": 1}})"), "has the key 'b' twice");
  EXPECT_EQ(refusal(R"({"a\nb": 1, "a\nb": 1})"), "has the key 'a?b' twice");
}

TEST(JsonReader, DepthIsBounded) {
  for (const auto& brackets : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    const std::string open = brackets.first, close = brackets.second;
    const std::string inner = open == "[" ? "" : "1";
    const auto nested = [&](std::size_t levels) {
      return repeated(open, levels) + inner + repeated(close, levels);
    };
    EXPECT_EQ(refusal(nested(kDeepestJson)), "accepted");
    const std::string deep = nested(kDeepestJson + 1), deepest = nested(200'000);
    const auto expected = [](const std::string& text) {
      return "is nested deeper than 100 levels (it has " + std::to_string(text.size()) + " bytes)";
    };
    EXPECT_EQ(refusal(deep), expected(deep));
    EXPECT_EQ(refusal(deepest), expected(deepest));
    EXPECT_EQ(refusal(repeated(open, 200'000)), expected(repeated(open, 200'000)))
        << "never closed";
  }
  EXPECT_EQ(refusal("[" + repeated("[[]],", 1000) + "[]]"), "accepted") << "wide is not deep";
}

}  // namespace
}  // namespace skyline
