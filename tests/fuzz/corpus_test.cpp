// Runs every fuzzer on its corpus, whole and damaged, in every build.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using Fuzzer = int(const std::uint8_t* data, std::size_t size);
extern "C" Fuzzer engine_choices_fuzz, events_csv_fuzz, graph_fuzz, idx_fuzz, image_decoder_fuzz,
    order_fuzz, rmm_log_fuzz, safetensors_fuzz, snapshot_fuzz, text_fuzz, text_stream_fuzz,
    trace_csv_fuzz;

namespace skyline {
namespace {

struct Case {
  const char* corpus;
  Fuzzer* fuzzer;
};

constexpr Case kCases[] = {{"engine_choices", engine_choices_fuzz},
                           {"events_csv", events_csv_fuzz},
                           {"graph", graph_fuzz},
                           {"idx", idx_fuzz},
                           {"image_decoder", image_decoder_fuzz},
                           {"order", order_fuzz},
                           {"rmm_log", rmm_log_fuzz},
                           {"safetensors", safetensors_fuzz},
                           {"snapshot", snapshot_fuzz},
                           {"text", text_fuzz},
                           {"text_stream", text_stream_fuzz},
                           {"trace_csv", trace_csv_fuzz}};

std::vector<std::uint8_t> content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Corpus : public ::testing::TestWithParam<Case> {
 protected:
  // A fuzzer aborts if something read is wrong; otherwise it returns 0.
  static void run(const std::vector<std::uint8_t>& content) {
    ASSERT_EQ(GetParam().fuzzer(content.data(), content.size()), 0);
  }
};

TEST_P(Corpus, IsReadWholeAndDamaged) {
  constexpr std::size_t kPlaces = 40;
  run({});
  int files = 0;
  const auto folder = std::filesystem::path(SKYLINE_CORPUS) / GetParam().corpus;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    const std::vector<std::uint8_t> content = content_of(entry.path());
    run(content);
    for (std::size_t i = 0; i < std::min(kPlaces, content.size()); ++i) {
      std::vector<std::uint8_t> damaged = content;
      const std::size_t place = i * content.size() / kPlaces;
      damaged[place] ^= static_cast<std::uint8_t>(1 + i * 37);
      run(damaged);
      damaged.assign(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(place));
      run(damaged);
    }
    ++files;
  }
  EXPECT_GT(files, 0) << folder;
}

// Recursion would follow such nesting to the end of the stack.
TEST_P(Corpus, SurvivesDeepNesting) {
  const std::string lists = std::string(100'000, '[') + std::string(100'000, ']');
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  for (const std::string& text :
       {lists, objects, "{\"a\":" + lists + "}", "{\"card\":" + lists + "}",
        "{\"order\":[],\"a\":" + lists + "}"}) {
    run({text.begin(), text.end()});
    std::vector<std::uint8_t> header(8);  // of a safetensors file: its length
    for (std::size_t i = 0; i < 8; ++i) {
      header[i] = static_cast<std::uint8_t>(text.size() >> (8 * i));
    }
    header.insert(header.end(), text.begin(), text.end());
    run(header);
  }
}

std::string corpus_name(const ::testing::TestParamInfo<Case>& info) { return info.param.corpus; }

INSTANTIATE_TEST_SUITE_P(Fuzzers, Corpus, ::testing::ValuesIn(kCases), corpus_name);

}  // namespace
}  // namespace skyline
