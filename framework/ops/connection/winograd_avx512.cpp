// Loops for processors with AVX-512: those of Winograd, and products that other ops use, too.
#include "framework/ops/connection/winograd_loops.h"

namespace skyline {

// 24 sums, two vectors of the panel and a factor take 27 of 32 registers.
const PanelProducts kPanelsAvx512 = PanelLoops<16, 12, 2>::products();
const WinogradCode kWinogradAvx512[] = {WinogradLoops<16, 12, 2, 3>::code(),
                                        WinogradLoops<16, 12, 2, 5>::code()};

}  // namespace skyline
