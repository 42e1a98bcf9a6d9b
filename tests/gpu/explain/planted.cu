// Kernels that each make one mistake on a line that says so, and one that makes none; and a program
// that runs them on paper and writes what paper counted, line by
// line, to a file.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>

constexpr int threads = 256, side = 32;

__global__ void planted_clean(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2 * x[i];
}

__global__ void planted_stride(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float wanted = x[i * side];  // here: uncoalesced
  y[i] = wanted + 1;
}

__global__ void planted_banks(const float* x, float* y) {
  __shared__ float tile[side][side];
  const int row = threadIdx.x / side, column = threadIdx.x % side;
  for (int r = row; r < side; r += threads / side) tile[r][column] = x[r * side + column];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += tile[column][row + k];  // here: bank conflict
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void planted_branch(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = x[i];
  if (threadIdx.x % 2 == 0) {  // here: divergence
    for (int k = 0; k < 100; ++k) value = value * value + 0.25f;
  } else {
    for (int k = 0; k < 100; ++k) value = value * 0.5f - value * value * value;
  }
  y[i] = value;
}

// The instructions of atomicAdd and __shfl_xor_sync are in headers of the compiler's.
__global__ void planted_inlined(const float* x, float* y) {
  extern __shared__ float dynamic[];
  float value = x[threadIdx.x];
  value += __shfl_xor_sync(~0U, value, 16);  // here: inlined shuffle
  dynamic[threadIdx.x] = value;
  atomicAdd(y, dynamic[threadIdx.x]);  // here: inlined atomic
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::size_t bytes = threads * side * sizeof(float);
  float *x = nullptr, *y = nullptr;
  if (cudaMalloc(&x, bytes) != cudaSuccess || cudaMalloc(&y, bytes) != cudaSuccess) return 1;
  cudaMemset(x, 0, bytes);
  cudaMemset(y, 0, bytes);
  planted_clean<<<8, threads>>>(x, y);
  planted_stride<<<1, threads>>>(x, y);
  planted_banks<<<1, threads>>>(x, y);
  planted_branch<<<4, threads>>>(x, y);
  planted_inlined<<<1, threads, threads * sizeof(float)>>>(x, y);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  auto* const lines = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "paperLines"));
  if (lines == nullptr) return 1;
  std::FILE* const file = std::fopen(argv[1], "w");
  if (file == nullptr || std::fputs(lines(), file) < 0 || std::fclose(file) != 0) return 1;
  return cudaFree(x) == cudaSuccess && cudaFree(y) == cudaSuccess ? 0 : 1;
}
