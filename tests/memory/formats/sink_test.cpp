#include "memory/formats/sink.h"

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(BufferedSink, HandsOverPiecesAsTheyFill) {
  std::size_t pieces = 0, bytes = 0;
  BufferedSink sink([&](std::string_view piece) {
    ++pieces;
    bytes += piece.size();
  });
  for (int i = 0; i < 1 << 18; ++i) sink.print("{:04}", i % 10'000);
  EXPECT_EQ(pieces, 4u);
  sink.finish();
  sink.finish();
  EXPECT_EQ(bytes, std::size_t{1} << 20);
  EXPECT_EQ(pieces, 4u) << "nothing is left";
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

TEST(JsonString, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(json_string("plain"), quoted("plain"));
  EXPECT_EQ(json_string("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            quoted("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  for (const char* bound :
       {"\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(json_string(bound), quoted(bound)) << "first and last of each length";
  }
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(json_string("\xf0\x9f\x98z"), quoted(replaced + replaced + replaced + "z"));
  EXPECT_EQ(json_string("\xff"), quoted(replaced));
  EXPECT_EQ(json_string("\xc3"), quoted(replaced)) << "cut";
  EXPECT_EQ(json_string("\xe2\x82"), quoted(replaced + replaced));
  EXPECT_EQ(json_string("\xc0\xaf"), quoted(replaced + replaced)) << "overlong";
  EXPECT_EQ(json_string("\xed\xa0\x80"), quoted(replaced + replaced + replaced)) << "a surrogate";
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), quoted(replaced + replaced + replaced + replaced));
}

TEST(JsonString, EscapesWhatJsonForbids) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
}

}  // namespace
}  // namespace skyline
