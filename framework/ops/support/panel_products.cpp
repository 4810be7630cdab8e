#include "framework/ops/support/panel_products.h"

#include "framework/ops/support/dnnl_kernel.h"
#include "framework/ops/support/panel_loops.h"

namespace skyline {
namespace {

bool runs(dnnl::cpu_isa needed) {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & static_cast<unsigned>(needed)) == static_cast<unsigned>(needed);
}

constexpr PanelProducts kPlain = PanelLoops<4, 4, 2>::products();

}  // namespace

bool runs_avx2() { return runs(dnnl::cpu_isa::avx2); }
bool runs_avx512() { return runs(dnnl::cpu_isa::avx512_core); }

const PanelProducts& panel_products() {
  return runs_avx512() ? kPanelsAvx512 : runs_avx2() ? kPanelsAvx2 : kPlain;
}

}  // namespace skyline
