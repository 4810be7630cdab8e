// Loops for processors with AVX2 and FMA: those of Winograd, and products that other ops use, too.
#include "framework/ops/connection/winograd_loops.h"

namespace skyline {

// 12 sums, two vectors of the panel and a factor take 15 of 16 registers.
const PanelProducts kPanelsAvx2 = PanelLoops<8, 6, 2>::products();
const WinogradCode kWinogradAvx2[] = {WinogradLoops<8, 6, 2, 3>::code(),
                                      WinogradLoops<8, 6, 2, 5>::code()};

}  // namespace skyline
