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
  EXPECT_GT(room_files(SKYLINE_SOURCE_DIR), 100u);  // the sources were found
  EXPECT_THAT(room_violations(SKYLINE_SOURCE_DIR), IsEmpty());
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
      {"framework/op.h", "memory/plan.h"},
      {"framework/op.h", "memory/planners/skyline/best_fit.h"},
      {"framework/ops/activation/relu.cpp", "layers/conv2d.h"},
      {"layers/conv2d.h", "memory/allocator.h"},
      {"layers/conv2d.h", "models/lenet.h"},
      {"models/lenet.h", "memory/allocator.h"},
      {"models/lenet.h", "data/images/idx.h"},
      {"models/lenet.h", "train/cli/cli.h"},
      {"data/images/idx.h", "framework/tensor.h"},
      {"data/images/idx.h", "memory/allocator.h"},
      {"train/cli/cli.h", "tests/train/temporary_folder.h"},
  };
  for (const auto& [file, header] : forbidden) {
    const std::string room =
        file.starts_with("memory/device/") ? "memory/device" : file.substr(0, file.find('/'));
    EXPECT_THAT(include(file, '"' + header + '"'),
                ElementsAre(file + ":3: " + room + " may not include " + header));
  }
}

TEST_F(Planted, EveryPermittedIncludePasses) {
  const std::vector<std::pair<std::string, std::string>> permitted = {
      {"memory/plan.h", "\"memory/device/device.h\""},
      {"memory/plan.h", "<memory>"},
      {"framework/op.h", "\"memory/step_graph.h\""},
      {"framework/op.h", "<oneapi/dnnl/dnnl.hpp>"},
      {"layers/conv2d.h", "\"framework/op.h\""},
      {"models/lenet.cpp", "\"layers/conv2d.h\""},
      {"data/images/idx.cpp", "<zlib.h>"},
      {"train/cli/cli.cpp", "\"memory/plan.h\""},
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
  EXPECT_THAT(include("framework/op.cpp", "<cuda_runtime.h>"), testing::SizeIs(1));
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
