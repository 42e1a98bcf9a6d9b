// float by oneDNN, which picks its code by processor; double, which it does not offer, portably.
// oneDNN computes with OpenMP's threads: equal bits on all ranks need equal OMP_NUM_THREADS, which
// the launcher sets to 1.
#include <dnnl.h>

#include "engine/base/error.hpp"
#include "engine/tensor/kernels.hpp"
#include "engine/tensor/portable_matmul.hpp"

#define LOCKSTEP_QUOTED(x) #x
#define LOCKSTEP_TEXT_OF(x) LOCKSTEP_QUOTED(x)

namespace lockstep::kernels {

void matmul(const Product& product, const float* a, const float* b, float* c) {
  const auto [m, n, k, transpose_a, transpose_b, row_a, row_b, row_c, into] = product;
  if (m == 0 || n == 0) return;
  if (k == 0) return portable_matmul(product, a, b, c);
  const bool turned_a = transpose_a == ops::Transpose::yes;
  const bool turned_b = transpose_b == ops::Transpose::yes;
  const dnnl_status_t status =
      dnnl_sgemm(turned_a ? 'T' : 'N', turned_b ? 'T' : 'N', m, n, k, 1.0F, a, row_a, b, row_b,
                 into == Into::add ? 1.0F : 0.0F, c, row_c);
  if (status != dnnl_success) {
    throw Error(text("oneDNN refused a product of [", m, ", ", k, "] and [", k, ", ", n,
                     "] with status ", static_cast<int>(status),
                     "; link the portable kernels to work without it"));
  }
}

void matmul(const Product& product, const double* a, const double* b, double* c) {
  portable_matmul(product, a, b, c);
}

std::string_view provider() {
  return "oneDNN " LOCKSTEP_TEXT_OF(DNNL_VERSION_MAJOR) "." LOCKSTEP_TEXT_OF(
      DNNL_VERSION_MINOR) "." LOCKSTEP_TEXT_OF(DNNL_VERSION_PATCH);
}

}  // namespace lockstep::kernels
