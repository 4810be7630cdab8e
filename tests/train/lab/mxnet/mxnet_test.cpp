#include "train/lab/mxnet/mxnet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "memory/validator.h"
#include "tests/train/commands/skyline_program.h"
#include "tests/train/report/browser.h"
#include "tests/train/temporary_folder.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

using testing::HasSubstr;

// Runs once for all tests.
const MxnetReproduction& the_note() {
  static const MxnetReproduction done = reproduce_mxnet();
  return done;
}

const NotePicture& note_picture(std::size_t number) { return the_note().pictures.at(number); }

TEST(MxnetNote, AChainInPlaceNeedsTheBytesOfOneValue) {
  EXPECT_EQ(note_picture(0).values.size(), 4u);
  EXPECT_EQ(note_picture(0).sum, 256u);
  EXPECT_EQ(note_picture(0).plan.peak, 64u);
  EXPECT_EQ(note_picture(0).value("D").how, "over C");
}

TEST(MxnetNote, TheTrapNeedsTwo) {
  EXPECT_EQ(note_picture(1).plan.peak, 128u);
  EXPECT_EQ(note_picture(1).value("C").how, "new");
  EXPECT_NE(note_picture(1).value("C").region, note_picture(1).value("B").region);
}

TEST(MxnetNote, ValuesOfDifferentSizesShareARegionOfTheLarger) {
  const NoteValue &b = note_picture(2).value("B"), &e = note_picture(2).value("E");
  EXPECT_EQ(b.region, e.region);
  EXPECT_EQ(e.how, "where B was, grown from 64 B");
  EXPECT_EQ(note_picture(2).plan.peak, 64 + e.bytes);
}

TEST(MxnetNote, GradientsOfThePerceptronShareOneRegion) {
  const NotePicture& perceptron = note_picture(3);
  EXPECT_EQ(perceptron.value("d(act1)").region, perceptron.value("d(A)").region);
  for (const auto& [value, over] : std::map<std::string, std::string>{
           {"act1", "fc1"}, {"out", "fc2"}, {"d(fc2)", "out"}, {"d(fc1)", "act1"}}) {
    EXPECT_EQ(perceptron.value(value).how, "over " + over);
  }
  EXPECT_THROW(perceptron.value("d(W1)"), std::out_of_range) << "resident";
}

TEST(MxnetNote, TheBoxTakesGrowsAndMakesRegions) {
  const NotePicture& steps = note_picture(4);
  EXPECT_EQ(steps.value("A").how, "new");
  EXPECT_EQ(steps.value("D").how, "where A was");
  EXPECT_EQ(steps.value("D").box, "2 (128 B)");
  EXPECT_EQ(steps.value("E").how, "where B was, grown from 128 B");
  EXPECT_EQ(steps.plan.planner, "box");
}

TEST(MxnetNote, PicturesArePlansOfTheirSteps) {
  for (const NotePicture& picture : the_note().pictures) {
    EXPECT_EQ(validate(simulate(picture.graph), picture.plan).reason, "") << picture.title;
    EXPECT_LE(picture.plan.peak, picture.sum) << picture.title;
  }
}

// A[5] takes the bytes of A[3] once A[4] has read them: the implicit edge of the note's figure.
TEST(ParallelNote, OneLaneMakesTheBranchesWait) {
  const NoteLanes note = parallel_note();
  const LanePlan& one = note.answer.one_lane();
  EXPECT_FALSE(one.waits.empty());
  for (const LaneEvent& wait : one.waits) {
    EXPECT_LE(wait.before, 3u);  // A[1] to A[4]
    EXPECT_GE(wait.after, 4u);   // A[5] to A[8]
  }
  EXPECT_EQ(one.plan.offsets[4], one.plan.offsets[2]);
  EXPECT_EQ(one.plan.offsets[3], one.plan.offsets[1]);
  EXPECT_GT(one.seconds, 5);
  for (std::size_t k = 1; k < note.answer.plans.size(); ++k) {
    EXPECT_TRUE(note.answer.plans[k].waits.empty());
    EXPECT_EQ(note.answer.plans[k].seconds, 5);
    EXPECT_GT(note.answer.plans[k].plan.peak, one.plan.peak);
    EXPECT_TRUE(note.answer.plans[k].plan.proved_optimal);
  }
  EXPECT_EQ(note.answer.at_once.size(), 2u);
  EXPECT_EQ(note.answer.schedule.critical_path, 5);
  EXPECT_EQ(note.answer.schedule.sum, 8);
}

TEST(ColoursNote, FourQuestionsHaveFourPlans) {
  const NoteLanes note = colours_note();
  std::map<std::string, std::uint64_t> values;
  for (const LanePlan& row : note.answer.plans) {
    values[row.name] = row.plan.peak >> 20;
    EXPECT_TRUE(row.plan.proved_optimal) << row.name;
    EXPECT_EQ(row.waits.empty(), row.name != "one lane");
  }
  EXPECT_EQ(values, (std::map<std::string, std::uint64_t>{{"one lane", 4},
                                                          {"2 lanes", 5},
                                                          {"path colours", 7},
                                                          {"path colours, soft", 5},
                                                          {"any order", 6}}));
}

TEST(MxnetNote, TheTableHasEveryNetworkUnderEveryStrategy) {
  EXPECT_EQ(the_note().costs.size(), 7u);
  for (const NoteCosts& costs : the_note().costs) {
    const auto bytes = [&](const char* strategy) { return costs.planned(strategy).value(); };
    EXPECT_LE(bytes("both"), std::min(bytes("in place"), bytes("sharing"))) << costs.network;
    EXPECT_LE(bytes("in place"), bytes("none")) << costs.network;
    EXPECT_LE(bytes("back-propagation"), bytes("none")) << costs.network;
    EXPECT_LE(bytes("forward only"), bytes("both")) << costs.network;
    // Least for seq2seq, whose loss in panels saves without any strategy.
    EXPECT_GT(costs.saved(), 0.25) << costs.network;
  }
}

TEST(MxnetNote, IsAPageOfSevenFigures) {
  const TemporaryFolder folder;
  const Outcome outcome =
      skyline_program({"reproduce", "mxnet", "--json", "--output", folder / "note"});
  const nlohmann::json json = outcome.json();
  const nlohmann::json& plans = json["lanes"][0]["plans"];
  EXPECT_THAT(plans[0]["edges"], testing::Contains("A[5] waits for A[4]"));
  EXPECT_THAT(plans[2]["edges"], testing::IsEmpty());
  EXPECT_EQ(json["pictures"][3]["values"].back()["value"], "d(A)");
  const std::string text = read_file(folder / "note/mxnet.txt");
  EXPECT_THAT(text, HasSubstr("A[5] waits for A[4]"));
  EXPECT_THAT(text, HasSubstr("where d(act1) was, grown from 256 B"));
  expect_in_browser(read_file(folder / "note/mxnet.html"),
                    {"A[5] waits for A[4]", "stroke-dasharray", "No op waits for bytes.",
                     "7. What a training step costs", "grown from 256 B"});
}

}  // namespace
}  // namespace skyline
