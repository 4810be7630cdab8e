#include "framework/ops/connection/winograd_cpu.h"

#include <omp.h>

#include <algorithm>
#include <array>

#include "framework/ops/connection/winograd_code.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/row_pieces.h"

namespace skyline {
namespace {

using Index = std::int64_t;

constexpr int kSide = 6, kPositions = kSide * kSide;  // of a tile

Index round_up(Index count, Index multiple) { return (count + multiple - 1) / multiple * multiple; }

// An odd number of cache lines that holds `floats`: addresses so far apart do not meet in one set
// of a cache.
Index odd_lines(Index floats) {
  constexpr Index kLine = 16;
  return (round_up(floats, kLine) / kLine | 1) * kLine;
}

Index largest_share(Index count, Index shares) { return (count + shares - 1) / shares; }

// Images [N, C, H, W], channels-last, whose tiles begin at pixel (-height, -width) of each.
template <typename Float>
struct Images {
  Float* at;
  const Shape& shape;
  Size2d before;
};

// The tiles of code.outputs x code.outputs pixels that cover results [N, O, OH, OW], image after
// image.
struct Tiles {
  Tiles(const Shape& y, int outputs_)
      : outputs(outputs_),
        rows((y[2] + outputs - 1) / outputs),
        columns((y[3] + outputs - 1) / outputs),
        count(y[0] * rows * columns) {}

  // Points at channel `channel` of the side x side pixels of a tile; at `outside` for pixels that
  // are not there.
  template <typename Float>
  std::array<Float*, kPositions> pixels(const Images<Float>& images, Index tile, int side,
                                        Index channel, Float* outside) const {
    const Shape& shape = images.shape;
    const Index first_y = tile / columns % rows * outputs - images.before.height,
                first_x = tile % columns * outputs - images.before.width;
    std::array<Float*, kPositions> found;
    std::size_t next = 0;
    for (Index y = first_y; y < first_y + side; ++y) {
      for (Index x = first_x; x < first_x + side; ++x) {
        const bool inside = y >= 0 && y < shape[2] && x >= 0 && x < shape[3];
        const Index pixel = (tile / (rows * columns) * shape[2] + y) * shape[3] + x;
        found[next++] = inside ? images.at + pixel * shape[1] + channel : outside;
      }
    }
    return found;
  }

  int outputs;
  Index rows, columns, count;
};

// As many shares of the work as can run at the same time, each with a workspace of its own.
Index shares_of(Index work, std::size_t parts) {
  return std::clamp<Index>(work, 1,
                           std::max<Index>(omp_get_max_threads(), static_cast<Index>(parts)));
}

// A convolution with the weight, or with the weight turned by 180 degrees: the gradient of the
// input is that of the result's gradient.
class WinogradConvolution final : public Kernel {
 public:
  WinogradConvolution(const WinogradCode& code, const Conv2dProblem& problem, bool turned,
                      std::size_t parts)
      : code_(code),
        x_(turned ? problem.y : problem.x),
        y_(turned ? problem.x : problem.y),
        before_(turned ? Size2d(code.taps - 1 - problem.params.padding.height,
                                code.taps - 1 - problem.params.padding.width)
                       : problem.params.padding),
        turned_(turned),
        bias_(!turned && problem.bias),
        relu_(!turned && problem.params.relu),
        tiles_(y_, code.outputs),
        shares_(shares_of(largest_share(tiles_.count, kFewestTiles), parts)),
        group_(std::min(kGroup, round_up(y_[1], code.columns))) {
    const Index share = largest_share(tiles_.count, shares_);
    const Index most = x_[1] <= kNarrow ? kNarrowRound : kRound;
    round_ = round_up(largest_share(share, largest_share(share, most)), code.rows);
    image_row_ = odd_lines(x_[1]);
    image_position_ = odd_lines(round_ * image_row_);
    result_row_ = odd_lines(group_);
    result_position_ = odd_lines(round_ * result_row_);
    weight_position_ = odd_lines(x_[1] * group_);
    WorkspaceLayout layout;
    layout.add_floats(kPositions * weight_position_);
    zeros_ = layout.add_floats(x_[1]);
    rounds_ = layout.bytes();
    WorkspaceLayout share_layout;
    share_layout.add_floats(kPositions * (image_position_ + result_position_));
    const bool ends_inside = y_[0] % shares_ != 0;  // of images
    if (may_overwrite() && ends_inside) {
      below_ = share_layout.add_floats(rows_below() * row_floats());
    }
    share_bytes_ = share_layout.bytes();
  }

  std::size_t workspace_bytes() const override {
    return rounds_ + static_cast<std::size_t>(shares_) * share_bytes_;
  }

  std::optional<int> overwritten_input() const override {
    return may_overwrite() ? std::optional(0) : std::nullopt;
  }

  void run(const KernelArguments& arguments) override {
    const bool overwrites = arguments.inputs[0] == arguments.outputs[0];
    auto* const weights = reinterpret_cast<float*>(arguments.workspace);
    auto* const zeros = reinterpret_cast<float*>(arguments.workspace + zeros_);
    std::fill_n(zeros, x_[1], 0.0f);
    for (Index first = 0; first < y_[1]; first += group_) {
      const RowRange outputs{first, std::min(group_, y_[1] - first)};
      const Index panels = largest_share(outputs.count, code_.columns);
      const Index blocks = largest_share(x_[1], kTransposedBlock);
      for_each_index(panels * blocks, shares_ > 1, [&](Index task) {
        transform_weight(arguments.input<float>(turned_ ? 0 : 1), outputs, task / blocks,
                         task % blocks * kTransposedBlock, weights);
      });
      if (overwrites) {
        for_each_index(shares_, shares_ > 1, [&](Index share) { keep_edges(arguments, share); });
      }
      for_each_index(shares_, shares_ > 1, [&](Index share) {
        std::byte* const workspace = workspace_of(arguments, share);
        if (overwrites) return run_over_input(arguments, share, outputs, workspace);
        const Index begin = share * tiles_.count / shares_,
                    end = (share + 1) * tiles_.count / shares_;
        for (Index tile = begin; tile < end; tile += round_) {
          run_round(arguments, {tile, std::min(round_, end - tile)}, outputs, workspace, Kept{});
        }
      });
    }
  }

 private:
  // More tiles amortize the weights, which often lie outside the second-level cache, and fewer
  // leave room for their rows in it. With 64 channels, 72 tiles are 5 % slower than 60, with 512
  // they are 4 % faster.
  static constexpr Index kRound = 72, kNarrow = 64, kNarrowRound = 60;
  // Threads with fewer tiles would mostly wait for weights.
  static constexpr Index kFewestTiles = 8;
  // Output channels whose weights and products are in the workspace at a time. Images are
  // transformed again for each group: with 512 channels, groups of 128 take two thirds of the bytes
  // and 5 to 8 % longer.
  static constexpr Index kGroup = 256;
  // Weights that are transposed at a time, in 25 KiB of the stack.
  static constexpr Index kTransposedBlock = 8, kMostColumns = 32, kMostTaps = 25;

  // Transforms a panel's weights for kTransposedBlock of x's channels from `channel` on.
  void transform_weight(const float* weight, const RowRange& outputs, Index panel, Index channel,
                        float* to) const {
    const Index first = panel * code_.columns, in = x_[1];
    const Index columns = std::min(code_.columns, outputs.count - first);
    const Index channels = std::min(kTransposedBlock, in - channel);
    const auto transform = [&](const float* taps, Index tap, Index row) {
      code_.transform_weight(taps, tap, columns,
                             {.at = to + first * in + (channel + row) * code_.columns,
                              .position = weight_position_,
                              .panel = code_.columns,
                              .channels = code_.columns});
    };
    const Index output = outputs.first + first, all_taps = code_.taps * code_.taps;
    if (turned_) {  // stored [x's channel][tap][y's channel]: the last tap becomes the first
      for (Index row = 0; row < channels; ++row) {
        transform(weight + ((channel + row) * all_taps + all_taps - 1) * y_[1] + output, -y_[1],
                  row);
      }
      return;
    }
    float taps[kTransposedBlock][kMostTaps][kMostColumns];
    for (Index column = 0; column < columns; ++column) {
      for (Index tap = 0; tap < all_taps; ++tap) {
        const float* const from = weight + ((output + column) * all_taps + tap) * in + channel;
        for (Index row = 0; row < channels; ++row) taps[row][tap][column] = from[row];
      }
    }
    for (Index row = 0; row < channels; ++row) transform(taps[row][0], kMostColumns, row);
  }

  // --- Writing over the input ---
  //
  // A tile also reads pixels of its neighbours: those above, which are written before it, and those
  // below. So shares and rounds are whole rows of tiles, one below the other, and a round has read
  // all of its tiles before it writes the first. What it reads of the row above is kept from the
  // round before: where tiles are, once they are multiplied, then where results are. At the edges
  // of a share, it is kept before any share begins; only for pixels below there is no such place.

  // Gradients of inputs could do the same, but no step's peak falls by it: where the gradient of
  // the weight runs, two values of the size are alive, too. Plans would only be harder to place.
  bool may_overwrite() const {
    return !turned_ && x_ == y_ && group_ >= y_[1] && tiles_.columns <= round_;
  }
  Index row_floats() const { return x_[3] * x_[1]; }
  Index rows_below() const { return code_.taps - 1 - before_.height; }
  std::byte* workspace_of(const KernelArguments& arguments, Index share) const {
    return arguments.workspace + rounds_ + static_cast<std::size_t>(share) * share_bytes_;
  }
  float* results_of(std::byte* workspace) const {
    return reinterpret_cast<float*>(workspace) + kPositions * image_position_;
  }
  // The rows of tiles of a share.
  RowRange rows_of(Index share) const {
    const Index rows = y_[0] * tiles_.rows, begin = share * rows / shares_;
    return {begin, (share + 1) * rows / shares_ - begin};
  }
  bool begins_image(Index row) const { return row % tiles_.rows == 0; }

  // Copies `count` rows of pixels that begin `offset` rows after the row of tiles begins, as far as
  // the image has them.
  void keep_rows(const KernelArguments& arguments, Index row, Index offset, Index count,
                 float* to) const {
    const Index first = row % tiles_.rows * code_.outputs + offset;
    const Index pixel_row = row / tiles_.rows * x_[2] + first;
    std::copy_n(arguments.input<float>(0) + pixel_row * row_floats(),
                std::min(count, x_[2] - first) * row_floats(), to);
  }

  void keep_edges(const KernelArguments& arguments, Index share) const {
    const RowRange rows = rows_of(share);
    if (rows.count == 0) return;
    std::byte* const workspace = workspace_of(arguments, share);
    const Index end = rows.first + rows.count;
    if (!begins_image(rows.first)) {
      keep_rows(arguments, rows.first, -before_.height, before_.height, results_of(workspace));
    }
    if (!begins_image(end)) {
      keep_rows(arguments, end, 0, rows_below(), reinterpret_cast<float*>(workspace + below_));
    }
  }

  void run_over_input(const KernelArguments& arguments, Index share, const RowRange& outputs,
                      std::byte* workspace) const {
    const RowRange rows = rows_of(share);
    const Index end = rows.first + rows.count, most = round_ / tiles_.columns;
    auto* const tiles = reinterpret_cast<float*>(workspace);
    Kept kept{.above = results_of(workspace),
              .below = reinterpret_cast<const float*>(workspace + below_)};
    for (Index row = rows.first; row < end; row += most) {
      const Index next = std::min(row + most, end);
      kept.below_row = next == end && !begins_image(end) ? end - 1 : -1;
      kept.above_row = begins_image(row) ? -1 : row;
      const bool keeps = next < end && !begins_image(next);
      const auto keep = [&] {
        if (keeps) keep_rows(arguments, next, -before_.height, before_.height, tiles);
      };
      run_round(arguments, {row * tiles_.columns, (next - row) * tiles_.columns}, outputs,
                workspace, kept, keep);
      if (keeps) std::copy_n(tiles, before_.height * row_floats(), results_of(workspace));
    }
  }

  // Pixels that other rounds may have written over, and the rows of tiles that read them.
  struct Kept {
    const float *above = nullptr, *below = nullptr;
    Index above_row = -1, below_row = -1;
  };

  // Lets a tile read what was kept in place of the rows of pixels above and below it.
  void read_kept(const Kept& kept, Index tile, std::array<const float*, kPositions>& pixels) const {
    if (kept.above_row < 0 && kept.below_row < 0) return;
    const Index row = tile / tiles_.columns;
    const Index first_y = row % tiles_.rows * code_.outputs - before_.height,
                first_x = tile % tiles_.columns * code_.outputs - before_.width;
    const auto read = [&](const float* from, Index first, Index count) {
      for (Index y = first; y < std::min(first + count, x_[2] - first_y); ++y) {
        for (Index x = std::max<Index>(0, -first_x); x < std::min<Index>(kSide, x_[3] - first_x);
             ++x) {
          pixels[static_cast<std::size_t>(y * kSide + x)] =
              from + (y - first) * row_floats() + (first_x + x) * x_[1];
        }
      }
    };
    if (row == kept.above_row) read(kept.above, 0, before_.height);
    if (row == kept.below_row) read(kept.below, kSide - rows_below(), rows_below());
  }

  // Calls keep() before it writes, when it needs the transformed tiles no more.
  template <typename Keep = void (*)()>
  void run_round(
      const KernelArguments& arguments, const RowRange& tiles, const RowRange& outputs,
      std::byte* workspace, const Kept& kept, const Keep& keep = [] {}) const {
    const auto* const weights = reinterpret_cast<const float*>(arguments.workspace);
    const auto* const zeros = reinterpret_cast<const float*>(arguments.workspace + zeros_);
    auto* const images = reinterpret_cast<float*>(workspace);
    float* const results = results_of(workspace);
    const Images<const float> x{arguments.input<float>(turned_ ? 1 : 0), x_, before_};
    for (Index i = 0; i < tiles.count; ++i) {
      auto pixels = tiles_.pixels(x, tiles.first + i, kSide, 0, zeros);
      read_kept(kept, tiles.first + i, pixels);
      code_.transform_image(pixels.data(), x_[1],
                            {.at = images + i * image_row_,
                             .position = image_position_,
                             .panel = code_.columns,
                             .channels = x_[1]});
    }
    for (Index position = 0; position < kPositions; ++position) {
      for (Index column = 0; column < outputs.count; column += code_.columns) {
        code_.multiply({.left = images + position * image_position_,
                        .left_row = image_row_,
                        .left_column = 1,
                        .right = weights + position * weight_position_ + column * x_[1],
                        .right_row = code_.columns,
                        .result = results + position * result_position_ + column,
                        .result_row = result_row_,
                        .rows = tiles.count,
                        .depth = x_[1],
                        .adds = false});
      }
    }
    keep();
    const Images<float> y{arguments.output<float>(0), y_, 0};
    const float* const bias = bias_ ? arguments.input<float>(2) + outputs.first : nullptr;
    for (Index i = 0; i < tiles.count; ++i) {
      const auto pixels = tiles_.pixels(y, tiles.first + i, code_.outputs, outputs.first,
                                        static_cast<float*>(nullptr));
      code_.finish_image({.at = results + i * result_row_,
                          .position = result_position_,
                          .channels = outputs.count},
                         bias, relu_, pixels.data());
    }
  }

  const WinogradCode& code_;
  Shape x_, y_;
  Size2d before_;
  bool turned_, bias_, relu_;
  Tiles tiles_;
  Index shares_, group_, round_;
  // Floats from one row, or one position, to the next.
  Index image_row_, image_position_, result_row_, result_position_, weight_position_;
  std::size_t zeros_, rounds_, share_bytes_;  // offsets into the workspace, and bytes of a share
  std::size_t below_ = 0;                     // offset into a share
};

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

std::vector<const WinogradCode*> winograd_codes(const Conv2dProblem& problem) {
  const Shape& weight = problem.weight;
  const Conv2dParams& params = problem.params;
  if ((weight[2] != 3 && weight[2] != 5) || weight[2] != weight[3] || params.groups != 1 ||
      params.stride.height != 1 || params.stride.width != 1) {
    return {};
  }
  const int index = weight[2] == 3 ? 0 : 1;
  std::vector<const WinogradCode*> codes;
  if (runs_avx512()) codes.push_back(&kWinogradAvx512[index]);
  if (runs_avx2()) codes.push_back(&kWinogradAvx2[index]);
  return codes;
}

std::unique_ptr<Kernel> make_winograd_cpu(ConvolutionKind kind, const Conv2dProblem& problem,
                                          const WinogradCode& code, std::size_t parts) {
  if (kind == ConvolutionKind::kGradWeight) {
    return std::make_unique<WinogradGradWeight>(code, problem, parts);
  }
  return std::make_unique<WinogradConvolution>(code, problem, kind == ConvolutionKind::kGradInput,
                                               parts);
}

}  // namespace skyline
