#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "memory/errors.h"
#include "memory/formats/pytorch/pickle_document.h"
#include "memory/formats/pytorch/pickle_writer.h"
#include "memory/formats/utf8.h"
#include "tests/memory/formats/pytorch/python_pickles.h"

namespace skyline {
namespace {

using Kind = PickleDocument::Kind;
using testing::HasSubstr;

std::string refusal(std::string text) {
  try {
    PickleDocument(std::move(text), "x.pickle");
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

// A pickle of protocol 4 with these opcodes; no byte of it is 0.
std::string pickled(const std::string& opcodes) { return "\x80\x04" + opcodes; }

class PlainPickle : public testing::TestWithParam<std::string> {
 protected:
  PickleDocument pickle_{GetParam(), "x.pickle"};
  PickleDocument::Value at(std::string_view key) const {
    return pickle_.find(pickle_.root(), key).value();
  }
  std::int64_t integer(std::string_view key) const { return pickle_.integer(at(key)); }
  std::size_t items(std::string_view key) const { return pickle_.items(at(key)).size(); }
};

TEST_P(PlainPickle, EveryKindOfValueIsRead) {
  EXPECT_EQ(pickle_.kind(at("none")), Kind::kNone);
  EXPECT_TRUE(pickle_.boolean(at("yes")));
  EXPECT_FALSE(pickle_.boolean(at("no")));
  EXPECT_EQ(integer("zero"), 0);
  EXPECT_EQ(integer("byte"), 200);
  EXPECT_EQ(integer("word"), 60000);
  EXPECT_EQ(integer("int"), -70000);
  EXPECT_EQ(integer("long"), std::int64_t{1} << 40);
  EXPECT_EQ(integer("negative"), -(std::int64_t{1} << 40));
  EXPECT_EQ(pickle_.kind(at("huge")), Kind::kLongInteger);
  EXPECT_EQ(pickle_.number(at("float")), 0.15625);
  EXPECT_EQ(pickle_.text(at("text")), "caf\xc3\xa9");
  EXPECT_EQ(pickle_.kind(at("bytes")), Kind::kBytes);
  EXPECT_EQ(pickle_.text(at("bytes")), std::string_view("\0\xff", 2));
}

TEST_P(PlainPickle, ContainersNest) {
  EXPECT_EQ(items("list"), 3u);
  EXPECT_EQ(pickle_.kind(pickle_.items(at("list"))[1]), Kind::kList);
  EXPECT_EQ(pickle_.kind(at("empty")), Kind::kTuple);
  EXPECT_EQ(items("empty"), 0u);
  EXPECT_EQ(items("one"), 1u);
  EXPECT_EQ(items("two"), 2u);
  EXPECT_EQ(items("three"), 3u);
  EXPECT_EQ(items("four"), 4u);
  const auto inner = pickle_.find(pickle_.find(at("nested"), "a").value(), "b");
  ASSERT_TRUE(inner);
  EXPECT_EQ(pickle_.kind(*inner), Kind::kDict);
  EXPECT_FALSE(pickle_.find(*inner, "c"));
  EXPECT_FALSE(pickle_.find(at("list"), "a")) << "no dict";
  const auto shared = pickle_.items(at("shared"));
  EXPECT_EQ(shared[0], shared[1]) << "one value, used twice";
}

std::string with_protocol(std::string_view pickle, char protocol) {
  std::string other(pickle);
  other[1] = protocol;
  return other;
}
INSTANTIATE_TEST_SUITE_P(Protocols, PlainPickle,
                         testing::Values(std::string(kPlainPickle3), std::string(kPlainPickle4),
                                         with_protocol(kPlainPickle4, 5)));

TEST(PickleDocument, NeverRunsAnything) {
  EXPECT_THAT(refusal(std::string(kReducePickle4)),
              HasSubstr("got the opcode STACK_GLOBAL (0x93), expected plain data"));
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"cos\nsystem\n.", "GLOBAL (0x63)"},
      {"R.", "REDUCE (0x52)"},
      {"b.", "BUILD (0x62)"},
      {"ios\nsystem\n.", "INST (0x69)"},
      {"o.", "OBJ (0x6f)"},
      {"\x81.", "NEWOBJ (0x81)"},
      {"\x92.", "NEWOBJ_EX (0x92)"},
      {"\x82\x01.", "EXT1 (0x82)"},
      {"P1\n.", "PERSID (0x50)"},
      {"I1\n.", "INT (0x49)"},
      {"\xff.", "opcode 0xff"},
  };
  for (const auto& [opcodes, name] : refused) {
    EXPECT_THAT(refusal(pickled(opcodes)), HasSubstr("x.pickle byte 2: got the opcode "));
    EXPECT_THAT(refusal(pickled(opcodes)), HasSubstr(name));
  }
}

TEST(PickleDocument, RefusesWhatIsNoPickle) {
  EXPECT_EQ(refusal(""), "x.pickle byte 0: got no bytes, expected a pickle");
  EXPECT_THAT(refusal("(dp0\n."),
              HasSubstr("byte 0: got no protocol, expected a pickle of protocol"));
  EXPECT_THAT(refusal(std::string("\x80\x01N.")),
              HasSubstr("got pickle protocol 1, expected 2 to 5"));
  EXPECT_THAT(refusal(std::string("\x80\x06N.")), HasSubstr("got pickle protocol 6"));
  EXPECT_THAT(refusal("\x80"), HasSubstr("the pickle ends after 1 bytes"));
}

TEST(PickleDocument, RefusesPicklesThatAreCutAnywhere) {
  for (std::size_t length = 0; length < kPlainPickle4.size(); ++length) {
    EXPECT_THAT(refusal(std::string(kPlainPickle4.substr(0, length))), HasSubstr("x.pickle byte "))
        << length;
  }
}

TEST(PickleDocument, RefusesBrokenStacksAndMemos) {
  EXPECT_THAT(refusal(pickled(".")), HasSubstr("takes a value that it did not give"));
  EXPECT_THAT(refusal(pickled("0.")), HasSubstr("takes a value that it did not give"));
  EXPECT_THAT(refusal(pickled("K\x01\x86.")), HasSubstr("takes a value that it did not give"));
  EXPECT_THAT(refusal(pickled("K\x01(\x85.")), HasSubstr("takes a value that it did not give"));
  EXPECT_THAT(refusal(pickled("K\x01(\x85t.")), HasSubstr("takes a value that it did not give"));
  EXPECT_THAT(refusal(pickled("NN(0NN.")), HasSubstr("takes a value that it did not give"));
  EXPECT_THAT(refusal(pickled("N(q\x01N.")), HasSubstr("nothing is there to be remembered"));
  EXPECT_THAT(refusal(pickled("NNq\x02h\x01.")), HasSubstr("got the memo 1, which was not set"));
  EXPECT_THAT(refusal(pickled("e.")), HasSubstr("closes what it did not open (no MARK)"));
  EXPECT_THAT(refusal(pickled("(K\x01"
                              "e.")),
              HasSubstr("items are added to no list"));
  EXPECT_THAT(refusal(pickled("](K\x01"
                              "u.")),
              HasSubstr("a key without a value"));
  EXPECT_THAT(refusal(pickled("](K\x01K\x02u.")), HasSubstr("items are added to no dict"));
  EXPECT_THAT(refusal(pickled("h\x07.")), HasSubstr("got the memo 7, which was not set"));
  EXPECT_THAT(refusal(pickled("q\x01.")), HasSubstr("nothing is there to be remembered"));
  EXPECT_THAT(refusal(pickled("Nr\xff\xff\xff\xff.")),
              HasSubstr("got the memo 4294967295, expected"));
  EXPECT_THAT(refusal(pickled("X\xff\xff\xff\xff.")), HasSubstr("the pickle ends after"));
  EXPECT_THAT(refusal(pickled("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.")),
              HasSubstr("the pickle ends"));
}

TEST(PickleDocument, BoundsNestingButNeedsNoRecursion) {
  EXPECT_THAT(refusal(pickled(std::string(1001, '('))), HasSubstr("got more than 1000 values one"));
  // [[[…]]] by a hundred thousand EMPTY_LISTs and APPENDs: nothing recurses, not even the end.
  EXPECT_EQ(refusal(pickled(std::string(100'000, ']') + std::string(99'999, 'a') + ".")),
            "accepted");
  EXPECT_EQ(refusal(pickled("]q\x01h\x01"
                            "a.")),
            "accepted")
      << "a list that holds itself";
}

TEST(PickleDocument, TheLastOfEqualKeysHolds) {
  // SHORT_BINUNICODE "k", BININT1 1, then the same with 2.
  const PickleDocument pickle(pickled("}(\x8c\x01kK\x01\x8c\x01kK\x02u."), "x");
  EXPECT_EQ(pickle.integer(pickle.find(pickle.root(), "k").value()), 2);
}

TEST(PickleDocument, FindsTextKeysOfDictsOnly) {
  // {"k": 2, 0x01011170: 1}, then ["k", 1].
  const PickleDocument dict(pickled("}(\x8c\x01kK\x02J\x70\x11\x01\x01K\x01u."), "x");
  EXPECT_EQ(dict.integer(dict.find(dict.root(), "k").value()), 2);
  const PickleDocument list(pickled("](\x8c\x01kK\x01"
                                    "e."),
                            "x");
  EXPECT_FALSE(list.find(list.root(), "k"));
}

// --- the writer ---

std::string written(const std::function<void(PickleWriter&)>& write) {
  std::string text;
  PickleWriter writer([&](std::string_view bytes) { text += bytes; });
  write(writer);
  writer.finish();
  return text;
}

TEST(PickleWriter, IntegersOfEverySizeComeBack) {
  const std::vector<std::int64_t> values = {0,
                                            1,
                                            255,
                                            256,
                                            65535,
                                            65536,
                                            -1,
                                            2147483647,
                                            2147483648,
                                            -2147483648,
                                            -2147483649,
                                            std::int64_t{1} << 53,
                                            std::numeric_limits<std::int64_t>::max(),
                                            std::numeric_limits<std::int64_t>::min()};
  const PickleDocument pickle(written([&](PickleWriter& writer) {
                                writer.begin_list();
                                for (const std::int64_t value : values) writer.integer(value);
                                writer.end_list();
                              }),
                              "x");
  const auto items = pickle.items(pickle.root());
  ASSERT_EQ(items.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(pickle.integer(items[i]), values[i]);
}

TEST(PickleWriter, LongListsAndManyTextsComeBack) {
  constexpr std::size_t kTexts = 10'000;
  const PickleDocument pickle(written([&](PickleWriter& writer) {
                                writer.begin_list();
                                for (std::size_t i = 0; i < 2 * kTexts; ++i) {
                                  writer.text("text " + std::to_string(i % kTexts));
                                }
                                writer.end_list();
                              }),
                              "x");
  const auto items = pickle.items(pickle.root());
  ASSERT_EQ(items.size(), 2 * kTexts);
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_EQ(pickle.text(items[i]), "text " + std::to_string(i % kTexts));
  }
}

TEST(PickleWriter, IntegersTakeAsFewBytesAsTheyCan) {
  const auto bytes = [](std::int64_t value) {
    return written([value](PickleWriter& writer) { writer.integer(value); }).size() - 3;
  };
  EXPECT_EQ(bytes(255), 2u);
  EXPECT_EQ(bytes(65535), 3u);
  EXPECT_EQ(bytes(65536), 5u);
  EXPECT_EQ(bytes(2147483647), 5u);
  EXPECT_EQ(bytes(2147483648), 10u);
}

// memory_viz spreads a batch over the arguments of one call.
TEST(PickleWriter, ListsComeInBatchesOfAThousand) {
  const std::string text = written([](PickleWriter& writer) {
    writer.begin_list();
    for (int i = 0; i < 2001; ++i) writer.boolean(true);
    writer.end_list();
  });
  EXPECT_EQ(std::ranges::count(text, 'e'), 3);
}

TEST(PickleWriter, RemembersOnlySoManyTexts) {
  const std::string text = written([](PickleWriter& writer) {
    writer.begin_list();
    for (int twice = 0; twice < 2; ++twice) {
      for (int i = 0; i < 5000; ++i) writer.text("text" + std::to_string(10'000 + i));
    }
    writer.end_list();
  });
  EXPECT_EQ(text.find("text10000"), text.rfind("text10000"));
  EXPECT_NE(text.find("text14999"), text.rfind("text14999")) << "in bounded memory";
}

TEST(PickleWriter, EmptyContainersAndBooleansComeBack) {
  const PickleDocument pickle(written([](PickleWriter& writer) {
                                writer.begin_dict();
                                writer.text("list");
                                writer.begin_list();
                                writer.end_list();
                                writer.text("dict");
                                writer.begin_dict();
                                writer.end_dict();
                                writer.text("yes");
                                writer.boolean(true);
                                writer.end_dict();
                              }),
                              "x");
  EXPECT_EQ(pickle.items(pickle.find(pickle.root(), "list").value()).size(), 0u);
  EXPECT_EQ(pickle.kind(pickle.find(pickle.root(), "dict").value()), Kind::kDict);
  EXPECT_TRUE(pickle.boolean(pickle.find(pickle.root(), "yes").value()));
}

TEST(ValidUtf8, ReplacesWhatIsNone) {
  EXPECT_EQ(valid_utf8("plain"), "plain");
  EXPECT_EQ(valid_utf8("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  for (const char* bound :
       {"\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(valid_utf8(bound), bound) << "the first and last of their lengths";
  }
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("\xf0\x9f\x98z"), replaced + replaced + replaced + "z");
  EXPECT_EQ(valid_utf8("\xff"), replaced);
  EXPECT_EQ(valid_utf8("\xc3"), replaced) << "cut";
  EXPECT_EQ(valid_utf8("\xe2\x82"), replaced + replaced);
  EXPECT_EQ(valid_utf8("\xc0\xaf"), replaced + replaced) << "overlong";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), replaced + replaced + replaced) << "a surrogate";
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), replaced + replaced + replaced + replaced);
}

TEST(JsonString, EscapesWhatJsonForbids) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
}

}  // namespace
}  // namespace skyline
