// float32 by oneDNN, which picks its code by processor; float64, which it does not offer, portably.
// oneDNN computes with OpenMP's threads: equal bits on all ranks need equal OMP_NUM_THREADS, which
// the launcher sets to 1.
#include <dnnl.h>

#include "engine/base/error.hpp"
#include "engine/tensor/cpu/products.hpp"

#define LOCKSTEP_QUOTED(x) #x
#define LOCKSTEP_TEXT_OF(x) LOCKSTEP_QUOTED(x)

namespace lockstep::kernels {
namespace {

void by_onednn(const Product& product, const float* a, const float* b, float* c) {
  const auto [m, n, k, transpose_a, transpose_b, row_a, row_b, row_c, into] = product;
  if (m == 0 || n == 0) return;
  if (k == 0) return portable_products()(product, a, b, c);
  const bool turned_a = transpose_a == ops::Transpose::yes;
  const bool turned_b = transpose_b == ops::Transpose::yes;
  const dnnl_status_t status =
      dnnl_sgemm(turned_a ? 'T' : 'N', turned_b ? 'T' : 'N', m, n, k, 1.0F, a, row_a, b, row_b,
                 into == Into::add ? 1.0F : 0.0F, c, row_c);
  if (status != dnnl_success) {
    throw Error(text("oneDNN refused a product of [", m, ", ", k, "] and [", k, ", ", n,
                     "] with status ", static_cast<int>(status),
                     "; make the device with portable_products() to work without it"));
  }
}

// Asking for what it would take anyway might undo ONEDNN_MAX_CPU_ISA.
void hold_onednn_to(Isa isa) {
  if (isa == widest_isa()) return;
  const auto wanted = isa == Isa::avx2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41;
  if (dnnl_set_max_cpu_isa(wanted) == dnnl_success) return;
  LOCKSTEP_CHECK(dnnl_get_effective_cpu_isa() == wanted, "oneDNN has multiplied with other ",
                 "instructions before it was to keep to ", name_of(isa),
                 "; make the first device of the process with best_products(isa)");
}

}  // namespace

Products best_products(Isa isa) {
  hold_onednn_to(isa);
  Products products = portable_products(isa);
  products.name = "oneDNN " LOCKSTEP_TEXT_OF(DNNL_VERSION_MAJOR) "." LOCKSTEP_TEXT_OF(
      DNNL_VERSION_MINOR) "." LOCKSTEP_TEXT_OF(DNNL_VERSION_PATCH);
  products.in_float32 = &by_onednn;
  return products;
}

}  // namespace lockstep::kernels
