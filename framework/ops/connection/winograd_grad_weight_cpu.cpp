#include "framework/ops/connection/winograd_tiles.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/row_pieces.h"

namespace skyline::winograd {
namespace {

// The gradient of the weight: at each position, outputs by tiles times tiles by channels. A task
// sums a block of it over a chunk of the tiles, round after round. The chunks do not depend on the
// threads, and their sums are added in their order.
class WinogradGradWeight final : public Kernel {
 public:
  WinogradGradWeight(const WinogradCode& code, const Conv2dProblem& problem, std::size_t parts)
      : code_(code),
        x_(problem.x),
        y_(problem.y),
        before_(problem.params.padding),
        bias_(problem.bias),
        tiles_(y_, code.outputs),
        row_blocks_(largest_share(y_[1], kBlock)),
        column_blocks_(largest_share(x_[1], kBlock)),
        rows_(round_up(largest_share(y_[1], row_blocks_), 4)),
        columns_(round_up(largest_share(x_[1], column_blocks_), code.columns)) {
    const Index blocks = row_blocks_ * column_blocks_;
    chunks_ = std::clamp<Index>(
        std::min(largest_share(kTasks, blocks), tiles_.count / kFewestTiles), 1, kTasks);
    shares_ = shares_of(blocks * chunks_, parts);
    const Index chunk = largest_share(tiles_.count, chunks_);
    const Index most = std::max(rows_, columns_) <= kSmallBlock ? kSmallRound : kRound;
    round_ = largest_share(chunk, largest_share(chunk, most));
    gradient_row_ = odd_lines(rows_);
    gradient_position_ = odd_lines(round_ * gradient_row_);
    image_position_ = odd_lines(round_ * columns_);
    sum_row_ = odd_lines(columns_);
    sum_position_ = odd_lines(rows_ * sum_row_);
    WorkspaceLayout layout;
    weights_ = layout.add_floats((chunks_ - 1) * weight_floats());
    biases_ = layout.add_floats(bias_ ? (chunks_ - 1) * y_[1] : 0);
    zeros_ = layout.add_floats(std::max(rows_, columns_));
    blocks_ = layout.bytes();
    WorkspaceLayout share;
    share.add_floats(kPositions * (gradient_position_ + image_position_ + sum_position_));
    share.add_floats(rows_);  // of the bias
    share_bytes_ = share.bytes();
  }

  std::size_t workspace_bytes() const override {
    return blocks_ + static_cast<std::size_t>(shares_) * share_bytes_;
  }

  void run(const KernelArguments& arguments) override {
    auto* const zeros = reinterpret_cast<float*>(arguments.workspace + zeros_);
    std::fill_n(zeros, std::max(rows_, columns_), 0.0f);
    const Index tasks = row_blocks_ * column_blocks_ * chunks_;
    for_each_index(shares_, shares_ > 1, [&](Index share) {
      std::byte* const workspace =
          arguments.workspace + blocks_ + static_cast<std::size_t>(share) * share_bytes_;
      for (Index task = share * tasks / shares_; task < (share + 1) * tasks / shares_; ++task) {
        run_task(arguments, task, workspace);
      }
    });
    add_chunks(arguments.output<float>(0), arguments.workspace + weights_, weight_floats());
    if (bias_) add_chunks(arguments.output<float>(1), arguments.workspace + biases_, y_[1]);
  }

 private:
  // The sums of a block and the rows of a round fit into the second-level cache if the block is
  // small, else nearly. Larger blocks transform the same rows less often, but are at most 10 %
  // faster in three times the bytes.
  static constexpr Index kBlock = 128, kRound = 80, kSmallBlock = 64, kSmallRound = 32;
  // There are as many chunks as it takes for so many tasks, each of enough tiles to pay for adding
  // its sums.
  static constexpr Index kTasks = 8, kFewestTiles = 64;

  // The transformed floats of a weight's row, and of all rows.
  Index row_floats() const { return code_.taps * code_.taps * x_[1]; }
  Index weight_floats() const { return row_floats() * y_[1]; }

  void run_task(const KernelArguments& arguments, Index task, std::byte* workspace) const {
    const Index chunk = task % chunks_, block = task / chunks_;
    const Index row = block / column_blocks_ * rows_, column = block % column_blocks_ * columns_;
    const RowRange outputs{row, std::min(rows_, y_[1] - row)},
        channels{column, std::min(columns_, x_[1] - column)};
    auto* const sums = reinterpret_cast<float*>(workspace);
    float* const bias_sums =
        sums + kPositions * (sum_position_ + gradient_position_ + image_position_);
    const auto chunk_of = [&](std::size_t output, std::size_t offset, Index floats) {
      return chunk == 0
                 ? arguments.output<float>(output)
                 : reinterpret_cast<float*>(arguments.workspace + offset) + (chunk - 1) * floats;
    };
    const bool sums_bias = bias_ && column == 0;
    float* const bias = sums_bias ? chunk_of(1, biases_, y_[1]) + row : nullptr;
    if (sums_bias) std::fill_n(bias, outputs.count, 0.0f);
    const Index begin = chunk * tiles_.count / chunks_, end = (chunk + 1) * tiles_.count / chunks_;
    for (Index tile = begin; tile < end; tile += round_) {
      if (sums_bias) std::fill_n(bias_sums, outputs.count, 0.0f);
      run_round(arguments, {tile, std::min(round_, end - tile)}, outputs, channels, sums,
                sums_bias ? bias_sums : nullptr, tile > begin);
      for (Index i = 0; sums_bias && i < outputs.count; ++i) bias[i] += bias_sums[i];
    }
    float* const weight = chunk_of(0, weights_, weight_floats()) + row * row_floats() + column;
    for (Index i = 0; i < outputs.count; ++i) {
      code_.finish_weight(
          {.at = sums + i * sum_row_, .position = sum_position_, .channels = channels.count},
          weight + i * row_floats(), x_[1]);
    }
  }

  void run_round(const KernelArguments& arguments, const RowRange& tiles, const RowRange& outputs,
                 const RowRange& channels, float* sums, float* bias_sums, bool adds) const {
    const auto* const zeros = reinterpret_cast<const float*>(arguments.workspace + zeros_);
    float* const gradients = sums + kPositions * sum_position_;
    float* const images = gradients + kPositions * gradient_position_;
    const Images<const float> x{arguments.input<float>(0), x_, before_},
        grad_y{arguments.input<float>(1), y_, 0};
    const Index panel = tiles.count * code_.columns;
    for (Index i = 0; i < tiles.count; ++i) {
      const auto pixels = tiles_.pixels(x, tiles.first + i, kSide, channels.first, zeros);
      code_.transform_image(pixels.data(), channels.count,
                            {.at = images + i * code_.columns,
                             .position = image_position_,
                             .panel = panel,
                             .channels = round_up(channels.count, code_.columns)});
      const auto results =
          tiles_.pixels(grad_y, tiles.first + i, code_.outputs, outputs.first, zeros);
      code_.transform_gradient(results.data(), outputs.count,
                               {.at = gradients + i * gradient_row_,
                                .position = gradient_position_,
                                .panel = code_.columns,
                                .channels = outputs.count},
                               bias_sums);
    }
    for (Index position = 0; position < kPositions; ++position) {
      for (Index column = 0; column < channels.count; column += code_.columns) {
        code_.multiply(
            {.left = gradients + position * gradient_position_,
             .left_row = 1,
             .left_column = gradient_row_,
             .right = images + position * image_position_ + column / code_.columns * panel,
             .right_row = code_.columns,
             .result = sums + position * sum_position_ + column,
             .result_row = sum_row_,
             .rows = outputs.count,
             .depth = tiles.count,
             .adds = adds});
      }
    }
  }

  // Adds the sums of all chunks but the first, which are in the workspace, to those of the first.
  void add_chunks(float* to, const std::byte* from, Index floats) const {
    for_each_range(floats, shares_ > 1 && chunks_ > 1, kVectors, [&](Index begin, Index end) {
      for (Index chunk = 1; chunk < chunks_; ++chunk) {
        const float* const more = reinterpret_cast<const float*>(from) + (chunk - 1) * floats;
        for (Index i = begin; i < end; ++i) to[i] += more[i];
      }
    });
  }

  const WinogradCode& code_;
  Shape x_, y_;
  Size2d before_;
  bool bias_;
  Tiles tiles_;
  Index row_blocks_, column_blocks_, rows_, columns_, chunks_, shares_, round_;
  // Floats from one row, or one position, to the next.
  Index gradient_row_, gradient_position_, image_position_, sum_row_, sum_position_;
  std::size_t weights_, biases_, zeros_, blocks_, share_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_grad_weight(const Conv2dProblem& problem, const WinogradCode& code,
                                         std::size_t parts) {
  return std::make_unique<WinogradGradWeight>(code, problem, parts);
}

}  // namespace skyline::winograd
