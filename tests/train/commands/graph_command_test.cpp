// The command graph, from its arguments to its output.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/train/commands/skyline_program.h"
#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Outcome graph_of(std::vector<std::string> more) {
  std::vector<std::string> words = {"graph", "--batch-size", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return skyline_program(words);
}

TEST(GraphCommandTest, TextTellsWhereEachOpWrites) {
  const Outcome outcome = graph_of({"--model", "lenet"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.output, HasSubstr("forward conv2d"));
  EXPECT_THAT(outcome.output, HasSubstr("backward relu_grad"));
  EXPECT_THAT(outcome.output, HasSubstr("over input 0"));
  EXPECT_THAT(outcome.output, HasSubstr("new: "));
}

TEST(GraphCommandTest, APhaseLeavesTheOthersOut) {
  const std::string text = graph_of({"--model", "lenet", "--phase", "backward"}).output;
  EXPECT_THAT(text, StartsWith("backward "));
  EXPECT_THAT(text, Not(HasSubstr("\nforward ")));
  EXPECT_THAT(text, Not(HasSubstr("\nupdate ")));
}

TEST(GraphCommandTest, JsonGivesAReasonForEachOutputThatIsNotInPlace) {
  const nlohmann::json graph = graph_of({"--model", "lenet", "--json"}).json();
  std::size_t in_place = 0;
  for (const auto& op : graph["ops"]) {
    for (const auto& output : op["outputs"]) {
      ASSERT_LT(output["value"].get<std::size_t>(), graph["values"].size());
      if (output["in_place"] == true) {
        ++in_place;
      } else if (output["view"] == false && output.contains("reason")) {
        EXPECT_TRUE(output["reason"].is_string()) << op;
      }
    }
  }
  EXPECT_GT(in_place, 0u);
}

TEST(GraphCommandTest, ComputesTheGradientOfTheImagesIfAsked) {
  for (const std::string model : {"alexnet", "lenet"}) {
    const std::string plain = graph_of({"--model", model}).output;
    EXPECT_THAT(plain, Not(HasSubstr("gradient of images")));
    const nlohmann::json graph = graph_of({"--model", model, "--input-gradient", "--json"}).json();
    const auto& values = graph["values"];
    const auto found = std::ranges::find(values, "gradient of images", [](const auto& value) {
      return value["name"].template get<std::string>();
    });
    ASSERT_NE(found, values.end());
    EXPECT_EQ((*found)["bytes"], values[0]["bytes"]) << "as many as the images";
  }
  EXPECT_EQ(graph_of({"--model", "mlp", "--infer", "--input-gradient"}).exit_code, 2);
  EXPECT_EQ(graph_of({"--model", "seq2seq", "--input-gradient"}).exit_code, 2);
}

TEST(GraphCommandTest, NothingIsInPlaceWhereThatIsOff) {
  const nlohmann::json graph = graph_of({"--model", "lenet", "--no-in-place", "--json"}).json();
  for (const auto& op : graph["ops"]) {
    for (const auto& output : op["outputs"]) EXPECT_EQ(output["in_place"], false) << op;
  }
}

TEST(GraphCommandTest, TextModelsHaveGraphsToo) {
  const Outcome outcome = graph_of({"--model", "seq2seq", "--units", "8", "--vocab-size", "20"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
  EXPECT_THAT(outcome.output, HasSubstr("lstm"));
  EXPECT_THAT(outcome.output, HasSubstr("\nbackward "));
  EXPECT_THAT(outcome.output, HasSubstr("\nupdate "));
}

TEST(GraphCommandTest, DotIsAGraphvizGraphAndFilesFollowTheirEnding) {
  const std::string dot = graph_of({"--model", "mlp", "--dot"}).output;
  EXPECT_THAT(dot, StartsWith("digraph"));
  const TemporaryFolder folder;
  const auto written = [&](const std::string& name) {
    const std::string file = folder / name;
    const Outcome outcome = graph_of({"--model", "mlp", "--output", file});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.messages;
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(outcome.messages, "wrote " + file + "\n");
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  EXPECT_EQ(written("step.dot"), dot);
  EXPECT_EQ(written("step.txt"), graph_of({"--model", "mlp"}).output);
  EXPECT_EQ(nlohmann::json::parse(written("step.json")),
            graph_of({"--model", "mlp", "--json"}).json());
}

TEST(GraphCommandTest, WrongUsageNamesItself) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--model", "lenett"}, "did you mean 'lenet'"},
      {{"--phase", "back"}, "did you mean 'backward'"},
      {{"--model", "lenet", "--units", "8"}, "--units is for models that translate"},
      {{"--model", "seq2seq", "--insize", "8"}, "--insize is for models that read images"},
      {{"--model", "lenet", "--insize", "8"}, "image, got 8 x 8"},
  };
  for (const auto& [words, hint] : cases) {
    const Outcome outcome = graph_of(words);
    EXPECT_EQ(outcome.exit_code, 2) << words.back();
    EXPECT_THAT(outcome.messages, HasSubstr(hint));
  }
}

}  // namespace
}  // namespace skyline
