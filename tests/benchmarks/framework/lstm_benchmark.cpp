// Recurrent ops on two tasks: a batch of 64 sentences of equal lengths, and one of mixed lengths.
//
//   GFLOP/s of the packed and the unrolled LSTM, forward and backward apart, as a fraction of a
//   2048 x 2048 x 2048 matrix product measured in the same run; beside them oneDNN's own LSTM
//   primitive, for equal lengths.
//   GB/s of embedding, its gradient and Adam beside a copy of as many bytes.
//
//   OMP_NUM_THREADS=2 lstm_benchmark [--units 256,650,1024] [--runs 5] [--pytorch PYTHON]
//
// With --pytorch, runs pytorch_lstm.py by that interpreter between its own runs and prints the
// ratio: above 1, ours is faster. Figures are those of the fastest run: other programs only slow
// down.

#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "framework/apply.h"
#include "framework/backward/backward_graph.h"
#include "framework/ops/array/rows.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/loss/softmax.h"
#include "framework/ops/optimizer/updates.h"
#include "framework/ops/support/declared_op.h"
#include "framework/ops/support/dnnl_kernel.h"
#include "layers/lstm.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "tests/benchmarks/framework/matrix_peak.h"
#include "tests/framework/eager_updates.h"

namespace skyline {
namespace {

constexpr std::int64_t kSentences = 64;
constexpr std::int32_t kEqualLength = 25;

// Mixed lengths are 1 to 50, about as many of each, with as many words as 64 sentences of 25 or 26.
std::vector<std::int32_t> lengths_of(bool mixed) {
  std::vector<std::int32_t> lengths(kSentences, kEqualLength);
  for (std::int32_t k = 0; mixed && k < kSentences; ++k)
    lengths[static_cast<std::size_t>(k)] = 50 - k * 49 / 63;
  return lengths;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Seconds {
  double forward = std::numeric_limits<double>::infinity();
  double backward = std::numeric_limits<double>::infinity();
  void improve(double new_forward, double new_backward) {
    forward = std::min(forward, new_forward);
    backward = std::min(backward, new_backward);
  }
};

// Multiply-adds of both products of a word; backward has twice as many.
double forward_flop(std::int64_t words, std::int64_t units, std::int64_t layers) {
  return 2.0 * static_cast<double>(words * layers * 2 * 4 * units * units);
}

// A layer on random words, with everything that training needs around it.
class LstmArm {
 public:
  LstmArm(std::int64_t units, std::int64_t layers, bool unroll, bool mixed)
      : shape_(PackedShape::of_lengths(lengths_of(mixed))),
        layer_(context_, "lstm", {.in = units, .units = units, .layers = layers, .unroll = unroll}),
        x_(make_parameter(
            context_, {{shape_.rows(), units}}, "x",
            std::vector<float>(static_cast<std::size_t>(shape_.rows() * units), 0.1f).data())),
        labels_(context_.resident({Shape{shape_.rows()}, DType::kInt32}, Category::kInput, "y")) {}

  std::int64_t words() const { return shape_.rows(); }

  // The loss is a softmax over the units and is not counted.
  void run(Seconds& seconds) {
    const double start = now();
    LstmOutput output = layer_(context_, x_.value, {}, shape_);
    const double forward = now() - start;
    Tensor loss = softmax_cross_entropy(context_, std::move(output.y), labels_);
    output = {};
    const double middle = now();
    backward(context_, std::move(loss));
    seconds.improve(forward, now() - middle);
  }

 private:
  CpuDevice device_;
  BestFitPool pool_{device_};
  Context context_{pool_, {.seed = 1}};
  PackedShape shape_;
  Lstm layer_;
  Parameter x_;
  Tensor labels_;
};

// oneDNN's LSTM primitive, all sentences of one length, weights in its own layout.
class DnnlArm {
 public:
  explicit DnnlArm(std::int64_t units) : units_(units) {
    using dnnl::memory;
    using Tag = memory::format_tag;
    const auto plain = [](memory::dims dims, Tag tag) {
      return memory::desc(std::move(dims), memory::data_type::f32, tag);
    };
    const memory::dims step = {kEqualLength, kSentences, units}, state = {1, 1, kSentences, units};
    const memory::dims weights = {1, 1, units, 4, units}, bias = {1, 1, 4, units};
    const auto x = plain(step, Tag::tnc), h = plain(state, Tag::ldnc);
    const auto w = plain(weights, Tag::any), b = plain(bias, Tag::ldgo);
    const auto direction = dnnl::rnn_direction::unidirectional_left2right;
    const dnnl::lstm_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, direction, x, h, h, w, w, b, x, h, h}, dnnl_engine());
    const dnnl::lstm_backward::primitive_desc backward({dnnl::prop_kind::backward,
                                                        direction,
                                                        x,
                                                        h,
                                                        h,
                                                        w,
                                                        w,
                                                        b,
                                                        x,
                                                        h,
                                                        h,
                                                        x,
                                                        h,
                                                        h,
                                                        w,
                                                        w,
                                                        b,
                                                        x,
                                                        h,
                                                        h},
                                                       dnnl_engine(), forward);
    forward_arguments_ = {{DNNL_ARG_SRC_LAYER, make(x)},
                          {DNNL_ARG_WEIGHTS_LAYER, make(forward.weights_layer_desc())},
                          {DNNL_ARG_WEIGHTS_ITER, make(forward.weights_iter_desc())},
                          {DNNL_ARG_BIAS, make(b)},
                          {DNNL_ARG_DST_LAYER, make(x)},
                          {DNNL_ARG_DST_ITER, make(h)},
                          {DNNL_ARG_DST_ITER_C, make(h)},
                          {DNNL_ARG_SRC_ITER, make(h)},
                          {DNNL_ARG_SRC_ITER_C, make(h)},
                          {DNNL_ARG_WORKSPACE, make(forward.workspace_desc())}};
    backward_arguments_ = forward_arguments_;
    backward_arguments_[DNNL_ARG_WEIGHTS_LAYER] = make(backward.weights_layer_desc());
    backward_arguments_[DNNL_ARG_WEIGHTS_ITER] = make(backward.weights_iter_desc());
    for (const auto& [argument, layout] :
         {std::pair{DNNL_ARG_DIFF_SRC_LAYER, x},
          {DNNL_ARG_DIFF_SRC_ITER, h},
          {DNNL_ARG_DIFF_SRC_ITER_C, h},
          {DNNL_ARG_DIFF_BIAS, b},
          {DNNL_ARG_DIFF_DST_LAYER, x},
          {DNNL_ARG_DIFF_DST_ITER, h},
          {DNNL_ARG_DIFF_DST_ITER_C, h},
          {DNNL_ARG_DIFF_WEIGHTS_LAYER, backward.diff_weights_layer_desc()},
          {DNNL_ARG_DIFF_WEIGHTS_ITER, backward.diff_weights_iter_desc()}}) {
      backward_arguments_[argument] = make(layout);
    }
    forward_ = dnnl::lstm_forward(forward);
    backward_ = dnnl::lstm_backward(backward);
  }

  void run(Seconds& seconds) {
    const double start = now();
    forward_.execute(stream_, forward_arguments_);
    const double middle = now();
    backward_.execute(stream_, backward_arguments_);
    seconds.improve(middle - start, now() - middle);
  }

 private:
  static dnnl::memory make(const dnnl::memory::desc& layout) {
    dnnl::memory memory(layout, dnnl_engine());
    std::fill_n(static_cast<char*>(memory.get_data_handle()), layout.get_size(), char{0});
    return memory;
  }

  std::int64_t units_;
  dnnl::stream stream_{dnnl_engine()};
  dnnl::lstm_forward forward_;
  dnnl::lstm_backward backward_;
  std::unordered_map<int, dnnl::memory> forward_arguments_, backward_arguments_;
};

void print_row(const std::string& name, const Seconds& seconds, double flop, double peak) {
  const double forward = flop / seconds.forward, backward = 2 * flop / seconds.backward;
  fmt::print("{:<38} {:8.2f} {:8.2f} {:9.0f} {:9.0f} {:7.0f}% {:7.0f}%\n", name,
             seconds.forward * 1e3, seconds.backward * 1e3, forward * 1e-9, backward * 1e-9,
             100 * forward / peak, 100 * backward / peak);
  std::fflush(stdout);
}

// Returns PyTorch's seconds, which the script prints as {"forward": …, "backward": …}.
Seconds run_pytorch(const std::string& python, std::int64_t units, bool mixed, int runs) {
  const std::string directory = SKYLINE_BENCHMARKS_SOURCE;
  const std::string command =
      fmt::format("{} {}/pytorch_lstm.py --units {} --runs {} --threads {}{}", python, directory,
                  units, runs, omp_get_max_threads(), mixed ? " --mixed" : "");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("[lstm_benchmark] cannot run " + command);
  std::string text;
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  if (pclose(pipe) != 0) throw std::runtime_error("[lstm_benchmark] this failed: " + command);
  const nlohmann::json json = nlohmann::json::parse(text);
  return {json.at("forward"), json.at("backward")};
}

struct Options {
  std::vector<std::int64_t> units = {256, 650, 1024};
  int runs = 5;
  std::string python;
};

void measure_lengths(const Options& options, std::int64_t units, bool mixed, double peak) {
  LstmArm packed(units, 1, false, mixed), unrolled(units, 1, true, mixed);
  Seconds packed_seconds, unrolled_seconds, dnnl_seconds, pytorch_seconds;
  std::unique_ptr<DnnlArm> dnnl = mixed ? nullptr : std::make_unique<DnnlArm>(units);
  for (int run = 0; run < options.runs; ++run) {  // in turns, so that all run under the same load
    packed.run(packed_seconds);
    unrolled.run(unrolled_seconds);
    if (dnnl) dnnl->run(dnnl_seconds);
  }
  if (!options.python.empty()) {
    pytorch_seconds = run_pytorch(options.python, units, mixed, options.runs);
    for (int run = 0; run < options.runs; ++run) packed.run(packed_seconds);
  }
  const double flop = forward_flop(packed.words(), units, 1);
  const std::string suffix = fmt::format(" {} units, {} lengths", units, mixed ? "mixed" : "equal");
  print_row("packed" + suffix, packed_seconds, flop, peak);
  print_row("unrolled" + suffix, unrolled_seconds, flop, peak);
  if (dnnl) print_row("oneDNN" + suffix, dnnl_seconds, flop, peak);
  if (options.python.empty()) return;
  print_row("PyTorch" + suffix, pytorch_seconds, flop, peak);
  fmt::print("{:<38} {:8.2f} forward, {:.2f} backward, {:.2f} both\n", "  packed, times PyTorch",
             pytorch_seconds.forward / packed_seconds.forward,
             pytorch_seconds.backward / packed_seconds.backward,
             (pytorch_seconds.forward + pytorch_seconds.backward) /
                 (packed_seconds.forward + packed_seconds.backward));
}

// Measures something that moves `floats` floats, read and written together, beside a copy of as
// many.
void measure_moving(const std::string& name, std::size_t floats, const std::function<void()>& call,
                    int runs) {
  constexpr std::size_t kParts = 64;
  std::vector<float> from(floats / 2, 1.0f), to(floats / 2);
  double best = std::numeric_limits<double>::infinity(), best_copy = best;
  for (int run = 0; run < 3 * runs; ++run) {
    const double start = now();
    call();
    const double middle = now();
#pragma omp parallel for schedule(static)
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t begin = part * to.size() / kParts, end = (part + 1) * to.size() / kParts;
      std::copy_n(from.data() + begin, end - begin, to.data() + begin);
    }
    best = std::min(best, middle - start);
    best_copy = std::min(best_copy, now() - middle);
  }
  const double bytes = 4.0 * static_cast<double>(floats);
  fmt::print("{:<38} {:8.2f} ms {:6.1f} GB/s, {:.2f} times a copy of as many bytes\n", name,
             best * 1e3, bytes / best * 1e-9, best_copy / best);
}

void measure_adam(const Shape& shape, int runs) {
  CpuDevice device;
  BestFitPool pool(device);
  Context context(pool, {});
  const auto elements = static_cast<std::size_t>(shape.elements());
  const Parameter parameter =
      make_parameter(context, {shape}, "table", std::vector<float>(elements).data());
  const Tensor first = context.resident({shape}, Category::kOptimizer, "table");
  const Tensor second = context.resident({shape}, Category::kOptimizer, "table");
  std::int64_t step = 0;
  // Reads four tensors and writes three.
  measure_moving(
      "adam " + shape.str(), 7 * elements,
      [&] {
        run_update(context, *adam_op({.step = ++step}), parameter, {first, second});
      },
      runs);
}

// The paper's table, and as many words as in a batch of 64 sentences.
void measure_embedding(const EmbeddingProblem& problem, int runs) {
  const auto moved = static_cast<std::size_t>(problem.rows * problem.features);
  std::vector<std::int32_t> ids;
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    ids.push_back(static_cast<std::int32_t>(row * row % problem.words));
  }
  std::vector<float> table(static_cast<std::size_t>(problem.words * problem.features)), rows(moved);
  const auto forward = make_embedding_cpu(problem), backward = make_embedding_grad_cpu(problem);
  std::vector<std::byte> workspace(backward->workspace_bytes());
  const auto address = [](auto& values) { return reinterpret_cast<std::byte*>(values.data()); };
  const std::byte* inputs[] = {address(ids), address(table)};
  std::byte* outputs[] = {address(rows)};
  measure_moving(
      "embedding", 2 * moved,
      [&] {
        forward->run({inputs, outputs});
      },
      runs);
  const std::byte* grad_inputs[] = {address(ids), address(rows)};
  std::byte* grad_outputs[] = {address(table)};
  measure_moving(
      "embedding_grad, dense", moved + table.size(),
      [&] {
        backward->run({grad_inputs, grad_outputs, workspace.data()});
      },
      runs);
}

}  // namespace
}  // namespace skyline

int main(int argc, char** argv) {
  skyline::Options options;
  CLI::App app("LSTM, embedding and Adam beside the machine's own limits");
  app.add_option("--units", options.units, "Units a layer")->delimiter(',');
  app.add_option("--runs", options.runs, "Runs of each; the fastest counts");
  app.add_option("--pytorch", options.python, "A Python interpreter that has PyTorch");
  CLI11_PARSE(app, argc, argv);
  const double peak = skyline::measure_matrix_peak().product;
  fmt::print("matrix product 2048^3: {:.0f} GFLOP/s on {} threads\n", peak * 1e-9,
             omp_get_max_threads());
  fmt::print("{:<38} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8}\n", "64 sentences, one layer", "fwd ms",
             "bwd ms", "fwd GF/s", "bwd GF/s", "of peak", "of peak");
  for (const std::int64_t units : options.units) {
    for (const bool mixed : {false, true}) skyline::measure_lengths(options, units, mixed, peak);
  }
  skyline::measure_embedding({.rows = 1600, .words = 40002, .features = 1024}, options.runs);
  skyline::measure_adam({40002, 256}, options.runs);
}
