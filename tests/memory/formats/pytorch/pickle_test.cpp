#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "memory/errors.h"
#include "memory/formats/pytorch/pickle.h"
#include "tests/memory/formats/pytorch/python_pickles.h"

namespace skyline {
namespace {

using DocumentKind = PickleDocument::Kind;
using testing::HasSubstr;

std::string pickle_refusal(std::string text) {
  try {
    PickleDocument(std::move(text), "x.pickle");
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

// A pickle of protocol 4 with these opcodes, none of them a 0 byte.
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
  EXPECT_EQ(pickle_.kind(at("none")), DocumentKind::kNone);
  EXPECT_TRUE(pickle_.boolean(at("yes")));
  EXPECT_FALSE(pickle_.boolean(at("no")));
  EXPECT_EQ(integer("zero"), 0);
  EXPECT_EQ(integer("byte"), 200);
  EXPECT_EQ(integer("word"), 60000);
  EXPECT_EQ(integer("int"), -70000);
  EXPECT_EQ(integer("long"), std::int64_t{1} << 40);
  EXPECT_EQ(integer("negative"), -(std::int64_t{1} << 40));
  EXPECT_EQ(pickle_.kind(at("huge")), DocumentKind::kLongInteger);
  EXPECT_EQ(pickle_.number(at("float")), 0.15625);
  EXPECT_EQ(pickle_.text(at("text")), "caf\xc3\xa9");
  EXPECT_EQ(pickle_.kind(at("bytes")), DocumentKind::kBytes);
  EXPECT_EQ(pickle_.text(at("bytes")), std::string_view("\0\xff", 2));
}

TEST_P(PlainPickle, ContainersNest) {
  EXPECT_EQ(items("list"), 3u);
  EXPECT_EQ(pickle_.kind(pickle_.items(at("list"))[1]), DocumentKind::kList);
  EXPECT_EQ(pickle_.kind(at("empty")), DocumentKind::kTuple);
  EXPECT_EQ(items("empty"), 0u);
  EXPECT_EQ(items("one"), 1u);
  EXPECT_EQ(items("two"), 2u);
  EXPECT_EQ(items("three"), 3u);
  EXPECT_EQ(items("four"), 4u);
  const auto inner = pickle_.find(pickle_.find(at("nested"), "a").value(), "b");
  ASSERT_TRUE(inner);
  EXPECT_EQ(pickle_.kind(*inner), DocumentKind::kDict);
  EXPECT_FALSE(pickle_.find(*inner, "c"));
  EXPECT_FALSE(pickle_.find(at("list"), "a")) << "no dict";
  const auto shared = pickle_.items(at("shared"));
  EXPECT_EQ(shared[0], shared[1]) << "one value, used twice";
}

std::string pickle_with_protocol(std::string_view pickle, char protocol) {
  std::string other(pickle);
  other[1] = protocol;
  return other;
}
INSTANTIATE_TEST_SUITE_P(Protocols, PlainPickle,
                         testing::Values(std::string(kPlainPickle3), std::string(kPlainPickle4),
                                         pickle_with_protocol(kPlainPickle4, 5)));

TEST(PickleDocument, NeverRunsAnything) {
  EXPECT_THAT(pickle_refusal(std::string(kReducePickle4)),
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
    EXPECT_THAT(pickle_refusal(pickled(opcodes)), HasSubstr("x.pickle byte 2: got the opcode "));
    EXPECT_THAT(pickle_refusal(pickled(opcodes)), HasSubstr(name));
  }
}

TEST(PickleDocument, RefusesWhatIsNoPickle) {
  EXPECT_EQ(pickle_refusal(""), "x.pickle byte 0: got no bytes, expected a pickle");
  EXPECT_THAT(pickle_refusal("(dp0\n."),
              HasSubstr("byte 0: got no protocol, expected a pickle of protocol"));
  EXPECT_THAT(pickle_refusal(std::string("\x80\x01N.")),
              HasSubstr("got pickle protocol 1, expected 2 to 5"));
  EXPECT_THAT(pickle_refusal(std::string("\x80\x06N.")), HasSubstr("got pickle protocol 6"));
  EXPECT_THAT(pickle_refusal("\x80"), HasSubstr("the pickle ends after 1 bytes"));
}

TEST(PickleDocument, RefusesPicklesThatAreCutAnywhere) {
  for (std::size_t length = 0; length < kPlainPickle4.size(); ++length) {
    EXPECT_THAT(pickle_refusal(std::string(kPlainPickle4.substr(0, length))),
                HasSubstr("x.pickle byte "))
        << length;
  }
}

TEST(PickleDocument, RefusesBrokenStacksAndMemos) {
  EXPECT_THAT(pickle_refusal(pickled(".")), HasSubstr("pops a value that it never pushed"));
  EXPECT_THAT(pickle_refusal(pickled("0.")), HasSubstr("pops a value that it never pushed"));
  EXPECT_THAT(pickle_refusal(pickled("K\x01\x86.")),
              HasSubstr("pops a value that it never pushed"));
  EXPECT_THAT(pickle_refusal(pickled("K\x01(\x85.")),
              HasSubstr("pops a value that it never pushed"));
  EXPECT_THAT(pickle_refusal(pickled("K\x01(\x85t.")),
              HasSubstr("pops a value that it never pushed"));
  EXPECT_THAT(pickle_refusal(pickled("NN(0NN.")), HasSubstr("pops a value that it never pushed"));
  EXPECT_THAT(pickle_refusal(pickled("N(q\x01N.")), HasSubstr("there is no value to memoize"));
  EXPECT_THAT(pickle_refusal(pickled("NNq\x02h\x01.")),
              HasSubstr("got the memo 1, which was not set"));
  EXPECT_THAT(pickle_refusal(pickled("e.")), HasSubstr("closes a container without a MARK"));
  EXPECT_THAT(pickle_refusal(pickled("(K\x01"
                                     "e.")),
              HasSubstr("items are added to a value that is no list"));
  EXPECT_THAT(pickle_refusal(pickled("](K\x01"
                                     "u.")),
              HasSubstr("a key without a value"));
  EXPECT_THAT(pickle_refusal(pickled("](K\x01K\x02u.")),
              HasSubstr("items are added to a value that is no dict"));
  EXPECT_THAT(pickle_refusal(pickled("h\x07.")), HasSubstr("got the memo 7, which was not set"));
  EXPECT_THAT(pickle_refusal(pickled("q\x01.")), HasSubstr("there is no value to memoize"));
  EXPECT_THAT(pickle_refusal(pickled("Nr\xff\xff\xff\xff.")),
              HasSubstr("got the memo 4294967295, expected"));
  EXPECT_THAT(pickle_refusal(pickled("X\xff\xff\xff\xff.")), HasSubstr("the pickle ends after"));
  EXPECT_THAT(pickle_refusal(pickled("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.")),
              HasSubstr("the pickle ends"));
}

TEST(PickleDocument, BoundsNestingButNeedsNoRecursion) {
  EXPECT_THAT(pickle_refusal(pickled(std::string(1001, '('))),
              HasSubstr("got values nested more than 1000 deep"));
  // [[[…]]] from a hundred thousand EMPTY_LISTs and APPENDs: nothing recurses, not even
  // destruction.
  EXPECT_EQ(pickle_refusal(pickled(std::string(100'000, ']') + std::string(99'999, 'a') + ".")),
            "accepted");
  EXPECT_EQ(pickle_refusal(pickled("]q\x01h\x01"
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

TEST(PickleDocument, ReadsIntegersOfEveryOpcode) {
  using std::string_literals::operator""s;
  const PickleDocument pickle(
      "\x80\x02](K\0K\xffM\xff\xffJ\xff\xff\xff\xffJ\xff\xff\xff\x7fJ\0\0\0\x80"
      "\x8a\0\x8a\x05\0\0\0\x80\0\x8a\x05\xff\xff\xff\x7f\xff"
      "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x8a\x08\0\0\0\0\0\0\0\x80"
      "\x8b\x02\0\0\0\0\x01"
      "e."s,
      "x");
  const std::vector<std::int64_t> values = {0,
                                            255,
                                            65535,
                                            -1,
                                            2147483647,
                                            -2147483648,
                                            0,
                                            2147483648,
                                            -2147483649,
                                            std::numeric_limits<std::int64_t>::max(),
                                            std::numeric_limits<std::int64_t>::min(),
                                            256};
  const auto items = pickle.items(pickle.root());
  ASSERT_EQ(items.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(pickle.integer(items[i]), values[i]);
}

}  // namespace
}  // namespace skyline
