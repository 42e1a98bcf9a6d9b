#include "engine/tensor/normalization.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {
namespace {

Normalized normalize(const char* operation, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, double epsilon) {
  check_float(operation, x);
  const auto [rows, columns] = rows_of(operation, x);
  check_vector(operation, "the weight", weight, x, columns);
  if (bias.defined()) check_vector(operation, "the bias", bias, x, columns);
  Normalized out{result(x, x.shape()), bias.defined() ? statistic(x, {rows}) : Tensor(),
                 statistic(x, {rows})};
  x.device().kernels().normalize(x, weight, bias, epsilon, out.y, out.mean, out.inverse_deviation);
  charge(x, 8, 2);
  return out;
}

}  // namespace

Normalized layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  LOCKSTEP_CHECK(bias.defined(), "layer_norm: the bias is undefined; rms_norm has none");
  return normalize("layer_norm", x, weight, bias, epsilon);
}

Normalized rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  return normalize("rms_norm", x, weight, {}, epsilon);
}

Tensor normalize_again(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& mean, const Tensor& inverse_deviation) {
  check_float("normalize_again", x);
  rows_of("normalize_again", x);
  Tensor y = result(x, x.shape());
  x.device().kernels().normalize_again(x, weight, bias, mean, inverse_deviation, y);
  charge(x, 4, 2);
  return y;
}

NormGradients norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight,
                            const Tensor& mean, const Tensor& inverse_deviation) {
  check_float("norm_backward", x);
  check_same("norm_backward", grad, x);
  const std::int64_t columns = rows_of("norm_backward", x).width;
  const bool centred = mean.defined();
  NormGradients out{result(x, x.shape()), result(x, {columns}),
                    centred ? result(x, {columns}) : Tensor()};
  x.device().kernels().norm_backward(grad, x, weight, mean, inverse_deviation, out.x, out.weight,
                                     out.bias);
  // The sums begin at zero.
  x.device().charge(0, static_cast<double>(out.weight.bytes()));
  if (centred) x.device().charge(0, static_cast<double>(out.bias.bytes()));
  charge(x, 14, 3);
  return out;
}

}  // namespace lockstep::ops
