#pragma once

#include <cstdint>

#include "framework/ops/support/panel_products.h"

namespace skyline {

// The place of a tile's 36 rows, one for each position of a transformed tile, `position` floats
// apart. A row of channels is cut into panels of WinogradCode::columns channels,
// `panel` floats apart.
struct WinogradRows {
  float* at;
  std::int64_t position, panel;
  std::int64_t channels;  // read or written; whole vectors are, so there must be room for them
};

// The inner loops of Winograd's F(4 x 4, 3 x 3) or F(2 x 2, 5 x 5), for processors of one kind: a
// tile of 6 x 6 pixels gives `outputs` x `outputs` results of windows of `taps` x `taps`. Results
// do not depend on how many channels or rows a call has.
struct WinogradCode {
  int taps, outputs;
  std::int64_t width;    // floats of a vector
  std::int64_t columns;  // of a panel
  std::int64_t rows;     // that a product computes at a time

  // Rows of the pixels of an image, and of a result's gradient; channels beyond `channels` become
  // 0. `sums` (null: none) gains the sum of the gradient's pixels.
  void (*transform_image)(const float* const* pixels, std::int64_t channels, WinogradRows to);
  void (*transform_gradient)(const float* const* pixels, std::int64_t channels, WinogradRows to,
                             float* sums);
  // Rows of the taps of a weight, `tap` floats apart.
  void (*transform_weight)(const float* taps, std::int64_t tap, std::int64_t channels,
                           WinogradRows to);
  // Pixels of a result from its rows, which are one panel; a null pixel is left out.
  void (*finish_image)(const WinogradRows& from, const float* bias, bool relu,
                       float* const* pixels);
  // Taps of a weight's gradient.
  void (*finish_weight)(const WinogradRows& from, float* taps, std::int64_t tap);
  void (*multiply)(const PanelProduct& product);
};

// For processors with AVX2 and FMA, and with AVX-512: for 3 x 3 and for 5 x 5 windows.
extern const WinogradCode kWinogradAvx2[2], kWinogradAvx512[2];

}  // namespace skyline
