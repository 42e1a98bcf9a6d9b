// The kernels without a library: what players and simulations link.
#include "engine/tensor/kernels.hpp"
#include "engine/tensor/portable_matmul.hpp"

namespace lockstep::kernels {

void matmul(const Product& product, const float* a, const float* b, float* c) {
  portable_matmul(product, a, b, c);
}
void matmul(const Product& product, const double* a, const double* b, double* c) {
  portable_matmul(product, a, b, c);
}

std::string_view provider() { return "portable"; }

}  // namespace lockstep::kernels
