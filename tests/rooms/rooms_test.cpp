#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/rooms/room_rules.h"
#include "tests/train/temporary_folder.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Rooms, IncludeOnlyWhatTheyMay) {
  EXPECT_GT(room_files(SKYLINE_SOURCE_DIR), 100u);  // finds the sources
  const std::vector<Violation> violations = room_violations(SKYLINE_SOURCE_DIR);
  EXPECT_THAT(violations, IsEmpty()) << fmt::format("{}", fmt::join(violations, "\n"));
}

// A repository with one planted file.
class Planted : public testing::Test {
 protected:
  std::vector<Violation> plant(const std::string& file, const std::string& text) {
    const TemporaryFolder root;
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
    EXPECT_EQ(room_files(root.path()), 1u) << file;
    return room_violations(root.path());
  }
  std::vector<Violation> include(const std::string& file, const std::string& header) {
    return plant(file, "#pragma once\n\n#include " + header + "\n");
  }
};

TEST_F(Planted, EveryForbiddenIncludeIsFound) {
  const std::vector<std::pair<std::string, std::string>> forbidden = {
      {"memory/device/cpu_device.h", "memory/allocator.h"},
      {"memory/plan.h", "framework/tensor.h"},
      {"memory/plan.h", "train/cli/byte_sizes.h"},
      {"memory/plan.h", "memory/planners/planner.h"},
      {"memory/adaptors/adaptor.h", "memory/session/session.h"},
      {"memory/allocators/segments.h", "memory/planners/planner.h"},
      {"memory/planners/planner.h", "memory/session/session.h"},
      {"memory/planners/registry.h", "memory/solvers/solvers.h"},
      {"memory/budget/budget_curve.h", "memory/solvers/chain_bound.h"},
      {"memory/planners/holes/hole_packer.h", "memory/planners/registry.h"},
      {"memory/planners/skyline/best_fit.h", "memory/planners/holes/hole_packer.h"},
      {"memory/replay/trace_replay.h", "memory/formats/csv/csv.h"},
      {"memory/session/session.h", "memory/formats/sink.h"},
      {"memory/session/session.h", "memory/replay/live_bytes.h"},
      {"memory/session/session.h", "memory/planners/skyline/best_fit.h"},
      {"framework/op.h", "memory/plan.h"},
      {"framework/op.h", "memory/planners/skyline/best_fit.h"},
      {"framework/op.h", "framework/ops/activation/relu.h"},
      {"framework/ops/activation/relu.cpp", "framework/ops/math/add.h"},
      {"framework/ops/activation/relu.cpp", "layers/conv2d.h"},
      {"framework/ops/support/elementwise.h", "framework/ops/activation/relu.h"},
      {"layers/conv2d.h", "memory/allocator.h"},
      {"layers/conv2d.h", "models/lenet.h"},
      {"models/lenet.h", "memory/allocator.h"},
      {"models/lenet.h", "data/images/idx.h"},
      {"models/lenet.h", "train/cli/cli.h"},
      {"data/images/idx.h", "framework/tensor.h"},
      {"data/images/idx.h", "memory/allocator.h"},
      {"data/images/idx.h", "data/text/vocabulary.h"},
      {"data/text/vocabulary.h", "data/images/idx.h"},
      {"train/checkpoints/checkpoint.h", "train/images/image_run.h"},
      {"train/cli/cli.h", "tests/train/temporary_folder.h"},
      {"train/cli/cli.h", "train/run/model_run.h"},
      {"train/images/image_run.h", "train/lab/comparison.h"},
      {"train/images/image_run.h", "train/translation/translator.h"},
      {"train/lab/comparison.h", "train/commands/commands.h"},
      {"train/options/train_options.h", "train/run/model_run.h"},
      {"train/report/page.h", "train/lab/comparison.h"},
      {"train/run/model_run.h", "train/images/image_step.h"},
      {"train/translation/translator.h", "train/images/image_step.h"},
  };
  for (const auto& [file, header] : forbidden) {
    const std::string folder = fs::path(file).parent_path().generic_string();
    EXPECT_THAT(include(file, '"' + header + '"'),
                ElementsAre(file + ":3: " + folder + " may not include " + header));
  }
}

TEST_F(Planted, EveryPermittedIncludePasses) {
  const std::vector<std::pair<std::string, std::string>> permitted = {
      {"memory/plan.h", "\"memory/device/device.h\""},
      {"memory/plan.h", "<memory>"},
      {"memory/planners/registry.cpp", "\"memory/planners/skyline/best_fit.h\""},
      {"memory/solvers/pair_programs.cpp", "<z3++.h>"},
      {"memory/solvers/programs.cpp", "<coin/Cbc_C_Interface.h>"},
      {"memory/replay/recorded_run.cpp", "\"memory/session/session.h\""},
      {"memory/session/session.h", "\"memory/planners/planner.h\""},
      {"framework/op.h", "\"memory/step_graph.h\""},
      {"framework/op.h", "<omp.h>"},
      {"framework/ops/connection/conv2d_cpu.cpp", "\"framework/ops/support/dnnl_kernel.h\""},
      {"framework/ops/connection/conv2d_cpu.cpp", "<oneapi/dnnl/dnnl.hpp>"},
      {"layers/conv2d.h", "\"framework/op.h\""},
      {"models/lenet.cpp", "\"layers/conv2d.h\""},
      {"data/images/idx.cpp", "<zlib.h>"},
      {"train/cli/cli.cpp", "\"memory/plan.h\""},
      {"train/cli/cli.cpp", "<CLI/CLI.hpp>"},
      {"train/lab/comparison.h", "\"train/translation/translator.h\""},
      {"train/options/train_options.h", "<nlohmann/json_fwd.hpp>"},
      {"framework/ops/relu_cuda.cpp", "<cuda_runtime.h>"},
      {"memory/device/cuda_device_cuda.cpp", "<cuda.h>"},
  };
  for (const auto& [file, header] : permitted) {
    EXPECT_THAT(include(file, header), IsEmpty()) << file << ' ' << header;
  }
}

TEST_F(Planted, IncludesAreWrittenFromTheRoot) {
  EXPECT_THAT(include("memory/plan.cpp", "\"plan.h\""),
              ElementsAre("memory/plan.cpp:3: plan.h is not written from the repository's root"));
  EXPECT_THAT(include("memory/plan.cpp", "\"../framework/op.h\""), testing::SizeIs(1));
}

TEST_F(Planted, LibrariesStayInTheirRooms) {
  EXPECT_THAT(include("memory/plan.h", "<thrust/fill.h>"),
              ElementsAre("memory/plan.h:3: memory may not include <thrust/fill.h>"));
  EXPECT_THAT(include("models/lenet.cpp", "<oneapi/dnnl/dnnl.hpp>"), testing::SizeIs(1));
  EXPECT_THAT(include("data/images/idx.cpp", "<nlohmann/json.hpp>"), testing::SizeIs(1));
  EXPECT_THAT(include("framework/op.cpp", "<oneapi/dnnl/dnnl.hpp>"), testing::SizeIs(1));
  EXPECT_THAT(include("framework/op.cpp", "<cuda_runtime.h>"), testing::SizeIs(1));
  EXPECT_THAT(include("memory/planners/portfolio.cpp", "<z3++.h>"), testing::SizeIs(1));
  EXPECT_THAT(include("train/lab/comparison.cpp", "<CLI/CLI.hpp>"), testing::SizeIs(1));
  EXPECT_THAT(include("train/trainer.cpp", "<gtest/gtest.h>"), testing::SizeIs(1));
}

TEST_F(Planted, ExpensiveLibrariesStayOutOfHeaders) {
  EXPECT_THAT(include("train/lab/comparison.h", "<nlohmann/json.hpp>"),
              ElementsAre("train/lab/comparison.h:3: <nlohmann/json.hpp> is too expensive for a "
                          "header"));
  EXPECT_THAT(include("train/cli/cli.h", "<CLI/CLI.hpp>"), testing::SizeIs(1));
  EXPECT_THAT(include("train/lab/comparison.cpp", "<nlohmann/json.hpp>"), IsEmpty());
}

TEST_F(Planted, CudaConditionsStayInTheCudaFiles) {
  const std::string text = "#ifdef SKYLINE_CUDA\n#endif\n";
  EXPECT_THAT(plant("framework/op.cpp", text),
              ElementsAre("framework/op.cpp:1: #if CUDA outside the CUDA files"));
  EXPECT_THAT(plant("framework/op.cpp", "#if defined(__CUDACC__)\n#endif\n"), testing::SizeIs(1));
  EXPECT_THAT(plant("framework/ops/relu_cuda.cpp", text), IsEmpty());
  EXPECT_THAT(plant("framework/ops/relu.cu", text), IsEmpty());
}

TEST_F(Planted, LibrariesNeitherPrintNorExit) {
  for (const char* line : {"std::cout << 1;", "std::cerr << 1;", "printf(\"x\");", "std::exit(1);",
                           "std::abort();", "fprintf(stderr, \"x\");", "fmt::print(\"x\");"}) {
    EXPECT_THAT(plant("memory/plan.cpp", line), testing::SizeIs(1)) << line;
  }
  EXPECT_THAT(plant("memory/plan.cpp", "snprintf(text, 9, \"x\");"), IsEmpty());
  EXPECT_THAT(plant("train/main.cpp", "std::cout << 1;"), IsEmpty());
}

TEST_F(Planted, JsonIsReadInOnePlace) {
  const std::string head = "#include <nlohmann/json.hpp>\n";
  for (const char* call :
       {"Json::parse(text);", "nlohmann::json::parse (text, nullptr, false);",
        "Json::sax_parse(text, &parser);", "Json::accept(text);", "Json::from_cbor(text);",
        "auto json = \"[]\"_json;", "stream >> json;", "file >> first_json;"}) {
    EXPECT_THAT(plant("train/trainer.cpp", head + call),
                ElementsAre("train/trainer.cpp:2: JSON is read by memory/formats/json_reader.h"));
    EXPECT_THAT(plant("memory/formats/json_reader.cpp", head + call), IsEmpty());
    EXPECT_THAT(plant("memory/formats/graph_parser.cpp", head + call), testing::SizeIs(1));
  }
  EXPECT_THAT(plant("train/trainer.cpp", head + "catch (const Json::parse_error&)"), IsEmpty());
  EXPECT_THAT(plant("train/trainer.cpp", head + "std::from_chars(a, b, c); f(x >> 3, json);"),
              IsEmpty());
  EXPECT_THAT(plant("data/text/vocabulary.cpp", "Vocabulary::parse(text);"), IsEmpty());
}

TEST_F(Planted, CommentsAreFree) {
  EXPECT_THAT(plant("memory/plan.cpp",
                    "// #include \"framework/op.h\"\n/* std::cout\n#ifdef CUDA */\n"
                    "auto url = \"https://example.org\"; /* std::cerr */\n"),
              IsEmpty());
  EXPECT_THAT(
      plant("memory/plan.cpp", "char c = '\"'; // std::cout \"\nint n = 1'000; // std::cerr\n"),
      IsEmpty());
  EXPECT_THAT(plant("memory/plan.cpp", "/* one\ntwo */\nstd::cout << \"// not a comment\";\n"),
              ElementsAre("memory/plan.cpp:3: libraries neither print nor exit"));
}

}  // namespace
}  // namespace skyline
