#include "train/checkpoints/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/train/checkpoints/host_copy.h"
#include "tests/train/parsed_json.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

StoredTensor tensor(std::string name, StoredType dtype, std::vector<std::int64_t> shape,
                    unsigned char fill = 1) {
  const auto bytes = stored_bytes(shape, dtype).value();
  return stored({std::move(name), dtype, std::move(shape), std::vector(bytes, std::byte{fill})});
}

std::vector<StoredTensor> some_tensors() {
  return {tensor("labels", StoredType::kU8, {3}, 7),
          tensor("conv1.weight", StoredType::kF32, {2, 3}),
          tensor("counts", StoredType::kI32, {2}, 9), tensor("scalar", StoredType::kF64, {}, 3),
          tensor("empty", StoredType::kF32, {0, 4})};
}

// Makes a file from a header and `data_bytes` zero bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string content(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(content.data(), &length, sizeof length);
  return content + header + std::string(data_bytes, '\0');
}

std::string refusal_of_file(const std::string& content) {
  try {
    decode_safetensors(std::as_bytes(std::span(content)), "w");
    return "accepted";
  } catch (const SafetensorsError& error) {
    return error.what();
  }
}

TEST(SafetensorsTest, ReadsBackWhatItWrote) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> metadata = {{"format", "skyline"}, {"ü", "\"\n"}};
  write_safetensors(folder / "a", some_tensors(), metadata);
  const Safetensors read = read_safetensors(folder / "a");
  EXPECT_EQ(read.metadata, metadata);
  EXPECT_EQ(read.tensors.size(), 5u);
  for (const StoredTensor& expected : some_tensors()) {
    ASSERT_NE(read.find(expected.name), nullptr);
    EXPECT_EQ(host_copy(*read.find(expected.name)), host_copy(expected));
  }
  EXPECT_EQ(read.find("none"), nullptr);
}

TEST(SafetensorsTest, KeepsEveryType) {
  for (int index = 0; index <= static_cast<int>(StoredType::kBool); ++index) {
    const auto type = static_cast<StoredType>(index);
    EXPECT_EQ(stored_type(stored_type_name(type)), type);
    const std::vector<StoredTensor> one = {tensor("t", type, {3})};
    EXPECT_EQ(one[0].bytes(), 3 * stored_type_bytes(type));
  }
  EXPECT_EQ(stored_type("F31"), std::nullopt);
}

// Compares byte for byte with the layout in https://huggingface.co/docs/safetensors.
TEST(SafetensorsTest, WritesThePublishedLayout) {
  const std::vector<StoredTensor> one = {tensor("a", StoredType::kF32, {2}, 0)};
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string head = safetensors_layout(one, {}).head;
  EXPECT_EQ(head.substr(0, 8), std::string("\x38\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(head.substr(8), header + std::string(0x38 - header.size(), ' '));
}

TEST(SafetensorsTest, AlignsEveryTensorToItsElement) {
  const auto tensors = some_tensors();
  const SafetensorsLayout layout = safetensors_layout(tensors, {});
  EXPECT_EQ(layout.head.size() % 8, 0u);
  const auto header = parsed_json(layout.head.substr(8));
  for (const StoredTensor& t : tensors) {
    const std::uint64_t begin = header[t.name]["data_offsets"][0];
    EXPECT_EQ(begin % stored_type_bytes(t.dtype), 0u) << t.name;
  }
}

TEST(SafetensorsTest, RefusesToWriteWhatIsInconsistent) {
  auto wrong = tensor("a", StoredType::kF32, {2});
  wrong.shape = {-1};
  EXPECT_THROW(safetensors_layout(std::vector{wrong}, {}), std::logic_error);
  const auto one = tensor("a", StoredType::kF32, {2});
  EXPECT_THROW(safetensors_layout(std::vector{one, one}, {}), std::logic_error);
  const auto reserved = tensor("__metadata__", StoredType::kF32, {2});
  EXPECT_THROW(safetensors_layout(std::vector{reserved}, {}), std::logic_error);
  EXPECT_EQ(stored_bytes({-1}, StoredType::kF32), std::nullopt);
  EXPECT_EQ(stored_bytes({std::int64_t{1} << 61, 2}, StoredType::kF32), std::nullopt);
}

TEST(SafetensorsTest, NamesWhatIsWrongWithAForeignFile) {
  EXPECT_EQ(refusal_of_file(""),
            "w: is not a safetensors file: it has 0 bytes, the header's length alone takes 8");
  EXPECT_THAT(refusal_of_file("PK\3\4 a zip archive of pickles"),
              testing::HasSubstr("bytes, more than the 100000000 allowed"));
  EXPECT_EQ(refusal_of_file(file_of("{}", 0).substr(0, 9)),
            "w: ends early: the header needs 2 bytes, 1 are left");
  EXPECT_EQ(refusal_of_file(file_of("", 0)), "w: header: does not begin with '{'");
  EXPECT_EQ(refusal_of_file(file_of("[1]", 0)), "w: header: does not begin with '{'");
  EXPECT_EQ(refusal_of_file(file_of("{\"a\":", 0)), "w: header: is not JSON at byte 6");
  EXPECT_EQ(refusal_of_file(file_of("{\"a\":1e999}", 0)), "w: header: holds a number out of range");
  EXPECT_EQ(refusal_of_file(file_of("{\"a\":[[[[[]]]]]}", 0)), "w: tensor 'a': is not an object");
  EXPECT_THAT(refusal_of_file(file_of(
                  "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", 0)),
              testing::HasSubstr("w: header: is nested deeper than 100 levels"));
  EXPECT_EQ(refusal_of_file(file_of("{\"a\":3}", 0)), "w: tensor 'a': is not an object");
  EXPECT_EQ(refusal_of_file(file_of("{\"__metadata__\":{\"a\":1}}", 0)),
            "w: __metadata__: 'a' is not a string");
  EXPECT_EQ(refusal_of_file(file_of("{}", 4)),
            "w: is damaged: 4 bytes of data follow the last tensor");
  EXPECT_EQ(refusal_of_file(file_of("{}", 0)), "accepted");
}

// Returns the refusal of a file with one tensor "a" that has these fields.
std::string refusal_of(const std::string& dtype, const std::string& shape,
                       const std::string& offsets, std::size_t data_bytes = 8) {
  return refusal_of_file(file_of(
      "{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}",
      data_bytes));
}

TEST(SafetensorsTest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(refusal_of("\"F32\"", "[2]", "[0,8]"), "accepted");
  EXPECT_EQ(refusal_of("\"F31\"", "[2]", "[0,8]"), "w: tensor 'a': dtype 'F31' is unknown");
  EXPECT_EQ(refusal_of("4", "[2]", "[0,8]"), "w: tensor 'a': dtype is not a string");
  EXPECT_EQ(refusal_of("\"F32\"", "2", "[0,8]"), "w: tensor 'a': shape is not an array");
  EXPECT_EQ(refusal_of("\"F32\"", "[-2]", "[0,8]"),
            "w: tensor 'a': shape holds -2, expected a whole number from 0");
  EXPECT_EQ(refusal_of("\"F32\"", "[2.0]", "[0,8]"),
            "w: tensor 'a': shape holds 2.0, expected a whole number from 0");
  EXPECT_EQ(refusal_of("\"F32\"", "[18446744073709551615]", "[0,8]"),
            "w: tensor 'a': shape holds 18446744073709551615, above 2^63 - 1");
  EXPECT_EQ(refusal_of("\"F32\"", "[4294967296,4294967296]", "[0,8]"),
            "w: tensor 'a': shape needs more than 2^63 - 1 bytes");
  EXPECT_EQ(refusal_of("\"F32\"", "[3]", "[0,8]"),
            "w: tensor 'a': shape needs 12 bytes, data_offsets give 8");
  EXPECT_EQ(refusal_of("\"F32\"", "[2]", "[0]"), "w: tensor 'a': data_offsets is not a pair");
  EXPECT_EQ(refusal_of("\"F32\"", "[2]", "[8,0]"),
            "w: tensor 'a': data_offsets 8 to 0 run backwards");
  EXPECT_EQ(refusal_of("\"F32\"", "[2]", "[0,8]", 7),
            "w: tensor 'a': data_offsets end at 8, but the file holds 7 bytes of data");
  EXPECT_EQ(refusal_of("\"F32\"", "[2]", "[4,12]", 12),
            "w: tensor 'a': data_offsets begin at 4, expected 0: a gap lies before it");
  EXPECT_EQ(refusal_of_file(file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 0)),
            "w: tensor 'a': the field 'data_offsets' is missing");
  EXPECT_EQ(refusal_of_file(file_of("{\"a\":{\"type\":\"F32\"}}", 0)),
            "w: tensor 'a': the field 'type' is unknown");
}

TEST(SafetensorsTest, RefusesOverlapsAndRepeatedNames) {
  const std::string fields = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_EQ(refusal_of_file(file_of("{\"a\":" + fields + ",\"b\":" + fields + "}", 4)),
            "w: tensor 'b': data_offsets begin at 0, expected 4: tensors overlap");
  EXPECT_EQ(refusal_of_file(file_of("{\"a\":" + fields + ",\"a\":" + fields + "}", 4)),
            "w: header: has the key 'a' twice");
}

TEST(SafetensorsTest, SurvivesEveryCutAndRandomDamage) {
  const auto tensors = some_tensors();
  const SafetensorsLayout layout = safetensors_layout(tensors, {{"k", "v"}});
  std::string whole = layout.head;
  for (const std::size_t i : layout.order) {
    const std::vector<std::byte> bytes = host_copy(tensors[i]).bytes;
    whole.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  EXPECT_EQ(refusal_of_file(whole), "accepted");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refusal_of_file(whole.substr(0, length)), "accepted") << length;
  }
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = whole;
    damaged[random() % layout.head.size()] = static_cast<char>(random());
    // Some damage is legal (a letter of a name); any exception but SafetensorsError fails the test.
    EXPECT_NO_THROW(refusal_of_file(damaged));
  }
}

TEST(SafetensorsTest, NamesAMissingFile) {
  EXPECT_THAT([] { read_safetensors("/none/w.safetensors"); },
              testing::ThrowsMessage<std::runtime_error>(
                  "cannot read /none/w.safetensors: No such file or directory"));
}

}  // namespace
}  // namespace skyline
