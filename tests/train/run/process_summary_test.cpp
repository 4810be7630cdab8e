#include "train/run/memory_summary.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/train/images/small_training.h"

namespace skyline {
namespace {

using namespace tests;

TEST(ProcessSummaryTest, PartsAddUpToTheResidentSet) {
  ProcessSummary summary{.process = {.resident_bytes = 1000,
                                     .peak_resident_bytes = 1500,
                                     .program_bytes = 200,
                                     .generated_bytes = 50,
                                     .anonymous_bytes = 750,
                                     .heap_used_bytes = 120,
                                     .heap_free_bytes = 30},
                         .reserved_bytes = 600,
                         .peak_reserved_bytes = 900,
                         .device_resident_bytes = 560,
                         .host_batch_bytes = 70,
                         .history_bytes = 10};
  const nlohmann::ordered_json written = to_json(summary);
  EXPECT_EQ(written["resident_set"], 1000);
  EXPECT_EQ(written["peak_resident_set"], 1500);
  const nlohmann::ordered_json expected = {
      {"device_memory", 560},    {"program_and_libraries", 200},
      {"generated_kernels", 50}, {"host_batches", 70},
      {"histories", 10},         {"other_heap", 40},
      {"heap_slack", 30},        {"other", 40}};
  EXPECT_EQ(written["resident_set_of"], expected);
}

// Blocks of a heap that were never touched are not resident.
TEST(ProcessSummaryTest, NoPartIsMoreThanThereIs) {
  ProcessSummary summary{.process = {.resident_bytes = 100,
                                     .anonymous_bytes = 100,
                                     .heap_used_bytes = 5000,
                                     .heap_free_bytes = 7},
                         .device_resident_bytes = 60,
                         .host_batch_bytes = 4000,
                         .history_bytes = 9};
  std::uint64_t sum = 0;
  for (const ProcessSummary::Part& part : summary.parts()) sum += part.bytes;
  EXPECT_EQ(sum, 100u);
}

TEST(ProcessSummaryTest, TheTableHasBothPeaks) {
  const std::string text = process_text({.process = {.resident_bytes = 3 << 20,
                                                     .peak_resident_bytes = 5 << 20,
                                                     .anonymous_bytes = 3 << 20},
                                         .reserved_bytes = 1 << 20,
                                         .peak_reserved_bytes = 2 << 20});
  EXPECT_NE(text.find("reserved by the device   1 MiB        2 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("resident set             3 MiB        5 MiB"), std::string::npos) << text;
}

TEST(ProcessSummaryTest, MeasuresTheDevicesOfItsRuns) {
  ImageRun one({}, seeded(), {.model = "lenet", .shape = small_shape("lenet")});
  ImageRun two({}, seeded(), {.model = "lenet", .shape = small_shape("lenet")});
  const Batch batch = small_batches(small_shape("lenet"), 4, 1)[0];
  one.train_step(batch, small_params());
  const ModelRun* const runs[] = {&one, &two};
  const ProcessSummary summary = process_summary(runs, 7);
  EXPECT_EQ(summary.reserved_bytes, one.memory.device().statistics().reserved_bytes +
                                        two.memory.device().statistics().reserved_bytes);
  EXPECT_GT(summary.device_resident_bytes, 0u);
  EXPECT_EQ(summary.host_batch_bytes, batch.images.size() * sizeof(float)) << "of the first run";
  EXPECT_EQ(summary.history_bytes, 7u);
  EXPECT_GE(summary.process.resident_bytes, summary.device_resident_bytes);
}

}  // namespace
}  // namespace skyline
