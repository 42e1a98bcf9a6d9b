// cuBLAS on paper against a plain sum in double: every turn, type and shape, with padding between
// columns that nothing has written, so that touching it would be a finding.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "tests/paper/host/common.cuh"

namespace {

// A matrix on the device, by columns, with `gap` elements between them.
template <typename T>
struct Matrix {
  int rows, columns, leading, batch;
  long long stride;
  std::vector<double> values;  // as the device has them, without gaps
  T* device = nullptr;

  Matrix(int its_rows, int its_columns, int gap, int its_batch = 1)
      : rows(its_rows),
        columns(its_columns),
        leading(its_rows + gap),
        batch(its_batch),
        stride(static_cast<long long>(leading) * its_columns + 3),
        device(reinterpret_cast<T*>(on_device(static_cast<std::size_t>(stride * batch * 2)))) {}
  ~Matrix() { MUST(cudaFree(device)); }

  double& at(int i, int j, int b) {
    return values[(static_cast<std::size_t>(b) * columns + j) * rows + i];
  }
  T* column(int j, int b) const {
    return device + b * stride + static_cast<long long>(j) * leading;
  }

  void fill_with(double seed) {
    values.resize(static_cast<std::size_t>(rows) * columns * batch);
    std::vector<T> one(static_cast<std::size_t>(rows));
    for (int b = 0; b < batch; ++b) {
      for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < rows; ++i) {
          one[i] = static_cast<T>(std::sin(seed + i * 1.7 + j * 0.9 + b * 3.1));
          at(i, j, b) = static_cast<double>(one[i]);
        }
        MUST(cudaMemcpy(column(j, b), one.data(), one.size() * sizeof(T), cudaMemcpyHostToDevice));
      }
    }
  }
  double read(int i, int j, int b) const {
    T value{};
    MUST(cudaMemcpy(&value, column(j, b) + i, sizeof(T), cudaMemcpyDeviceToHost));
    return static_cast<double>(value);
  }
};

template <typename T>
constexpr cudaDataType type_of = CUDA_R_32F;
template <>
constexpr cudaDataType type_of<double> = CUDA_R_64F;
template <>
constexpr cudaDataType type_of<__half> = CUDA_R_16F;
template <>
constexpr cudaDataType type_of<__nv_bfloat16> = CUDA_R_16BF;

struct Shape {
  int m, n, k, gap, batch;
};

// c := 1.5 op(a) op(b) + beta c, held against the sum in double.
template <typename T, typename Result, typename Sum>
void check(cublasHandle_t handle, const Shape& is, cublasOperation_t turn_a,
           cublasOperation_t turn_b, double beta_value, double tolerance) {
  const bool a_turned = turn_a != CUBLAS_OP_N, b_turned = turn_b != CUBLAS_OP_N;
  Matrix<T> a(a_turned ? is.k : is.m, a_turned ? is.m : is.k, is.gap, is.batch);
  Matrix<T> b(b_turned ? is.n : is.k, b_turned ? is.k : is.n, 2 * is.gap, is.batch);
  Matrix<Result> c(is.m, is.n, is.gap, is.batch);
  a.fill_with(1);
  b.fill_with(2);
  if (beta_value != 0) c.fill_with(3);
  const Sum alpha = 1.5, beta = static_cast<Sum>(beta_value);
  const auto compute = sizeof(Sum) == 8 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
  EXPECT(cublasGemmStridedBatchedEx(
             handle, turn_a, turn_b, is.m, is.n, is.k, &alpha, a.device, type_of<T>, a.leading,
             a.stride, b.device, type_of<T>, b.leading, b.stride, &beta, c.device, type_of<Result>,
             c.leading, c.stride, is.batch, compute, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  for (int s = 0; s < is.batch; ++s) {
    for (int j = 0; j < is.n; ++j) {
      for (int i = 0; i < is.m; ++i) {
        double sum = 0;
        for (int p = 0; p < is.k; ++p) {
          sum += (a_turned ? a.at(p, i, s) : a.at(i, p, s)) *
                 (b_turned ? b.at(j, p, s) : b.at(p, j, s));
        }
        sum = 1.5 * sum + (beta_value != 0 ? beta_value * c.at(i, j, s) : 0);
        const double seen = c.read(i, j, s);
        if (std::abs(seen - sum) <= tolerance * (1 + std::abs(sum) + std::sqrt(is.k))) continue;
        std::printf("m %d n %d k %d, turns %d %d, beta %g, type %d: [%d, %d] of %d is %g, not %g\n",
                    is.m, is.n, is.k, turn_a, turn_b, beta_value, type_of<T>, i, j, s, seen, sum);
        std::exit(1);
      }
    }
  }
}

template <typename T, typename Result, typename Sum>
void check_all(double tolerance) {
  cublasHandle_t handle = nullptr;
  EXPECT(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  const Shape shapes[] = {
      {1, 1, 1, 0, 1}, {3, 5, 2, 1, 2}, {7, 1, 13, 0, 1}, {8, 6, 9, 3, 3}, {4, 3, 0, 1, 1}};
  for (const Shape& shape : shapes) {
    for (const auto turn_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      for (const auto turn_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
        for (const double beta : {0.0, 1.0, -0.5}) {
          check<T, Result, Sum>(handle, shape, turn_a, turn_b, beta, tolerance);
        }
      }
    }
  }
  check<T, Result, Sum>(handle, {33, 3, 70, 1, 1}, CUBLAS_OP_T, CUBLAS_OP_N, 1, tolerance);
  EXPECT(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

void floats(Version) { check_all<float, float, float>(1e-6); }
void doubles(Version) { check_all<double, double, double>(1e-14); }
void bfloats(Version) {
  check_all<__nv_bfloat16, __nv_bfloat16, float>(0x1p-7);
  check_all<__nv_bfloat16, float, float>(1e-6);
}
void halves(Version) {
  check_all<__half, __half, float>(0x1p-10);
  check_all<__half, float, float>(1e-6);
}

// The other doors to the same product, and scales that lie on the device.
void other_functions(Version) {
  cublasHandle_t handle = nullptr;
  EXPECT(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  cudaStream_t stream = new_stream(), told = nullptr;
  float *a = on_device(6), *b = on_device(6), *c = on_device(18), *scales = on_device(2);
  fill_all(a, 2, stream, 6);
  fill_all(b, 3, stream, 6);
  fill_all(c, 1, stream, 18);
  const float alpha = 1, beta = 1, zero = 0;
  EXPECT(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  EXPECT(cublasGetStream(handle, &told) == CUBLAS_STATUS_SUCCESS && told == stream);
  // c [3, 3] := a [3, 2] b [2, 3] + c
  EXPECT(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 2, &alpha, a, 3, b, 2, &beta, c, 3) ==
         CUBLAS_STATUS_SUCCESS);
  EXPECT(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 2, &alpha, a, CUDA_R_32F, 3, b,
                      CUDA_R_32F, 2, &beta, c, CUDA_R_32F, 3, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  EXPECT(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 2, &alpha, a, 3, 0, b, 2,
                                   0, &beta, c, 3, 9, 2) == CUBLAS_STATUS_SUCCESS);
  fill_all(scales, 0.5F, stream, 2);
  EXPECT(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS);
  EXPECT(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 2, scales, a, 3, b, 2, scales + 1, c,
                     3) == CUBLAS_STATUS_SUCCESS);
  EXPECT(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST) == CUBLAS_STATUS_SUCCESS);
  MUST(cudaStreamSynchronize(stream));
  std::vector<float> host(18);
  MUST(cudaMemcpy(host.data(), c, 18 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 0.5F * 12 + 0.5F * (1 + 36) && host[17] == 13);
  // A product with 0 writes zeros, and reads nothing.
  float* nothing = on_device(6);
  EXPECT(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 2, &zero, nothing, 3, nothing, 2,
                     &zero, c, 3) == CUBLAS_STATUS_SUCCESS);
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaMemcpy(host.data(), c, 9 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(host[4] == 0);
  // Tensor cores take 10 bits of a float's 23, where the program lets them.
  const float fine = 1 + 0x1p-12F;
  for (const bool fast : {false, true}) {
    EXPECT(cublasSetMathMode(handle, fast ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH) ==
           CUBLAS_STATUS_SUCCESS);
    fill_all(a, fine, stream, 1);
    fill_all(b, 1, stream, 1);
    EXPECT(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a, 1, b, 1, &zero, c,
                       1) == CUBLAS_STATUS_SUCCESS);
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemcpy(host.data(), c, sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT(host[0] == (fast ? 1 : fine));
  }
  EXPECT(std::strcmp(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED),
                     "CUBLAS_STATUS_NOT_SUPPORTED") == 0);
  EXPECT(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
  for (float* x : {a, b, c, scales, nothing}) MUST(cudaFree(x));
  MUST(cudaStreamDestroy(stream));
}

constexpr Case cases[] = {
    {"floats", floats},
    {"doubles", doubles},
    {"bfloats", bfloats},
    {"halves", halves},
    {"other_functions", other_functions},
};

}  // namespace

int main(int words, char** word) { return run_case(cases, words, word); }
