#include "framework/ops/connection/winograd_cpu.h"

#include <algorithm>
#include <array>

#include "framework/ops/connection/winograd_tiles.h"
#include "framework/ops/support/elementwise_cpu.h"
#include "framework/ops/support/row_pieces.h"

namespace skyline {
namespace winograd {
namespace {

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

}  // namespace
}  // namespace winograd

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
    return winograd::make_grad_weight(problem, code, parts);
  }
  return std::make_unique<winograd::WinogradConvolution>(
      code, problem, kind == ConvolutionKind::kGradInput, parts);
}

}  // namespace skyline
