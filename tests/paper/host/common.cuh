// What the programs of these tests share: named cases, and kernels that are too simple to be wrong.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// Each fault has a twin without it.
enum class Version { faulty, clean };

struct Case {
  const char* name;
  void (*run)(Version);
};

constexpr int count = 1000;
constexpr std::size_t bytes = count * sizeof(float);

static __global__ void fill(float* x, float value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
}

static __global__ void scale(float* y, const float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * by;
}

// The sum of a block's numbers, in as much shared memory as the launch gives.
static __global__ void sum(float* result, const float* x, int n) {
  extern __shared__ float mine[];
  float own = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) own += x[i];
  mine[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float all = 0;
  for (int i = 0; i < blockDim.x; ++i) all += mine[i];
  *result = all;
}

static inline void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  std::exit(1);
}
#define MUST(call) must(call, #call)

static inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("does not hold: %s\n", what);
  std::exit(1);
}
#define EXPECT(what) expect(what, #what)

static inline float* on_device(std::size_t n = count) {
  float* x = nullptr;
  MUST(cudaMalloc(&x, n * sizeof(float)));
  return x;
}

static inline float* pinned(std::size_t n = count) {
  float* x = nullptr;
  MUST(cudaMallocHost(&x, n * sizeof(float)));
  return x;
}

// A stream that the default stream does not wait for.
static inline cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

static inline cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

static inline void fill_all(float* x, float value, cudaStream_t stream, int n = count) {
  fill<<<(n + 255) / 256, 256, 0, stream>>>(x, value, n);
}

static inline void scale_all(float* y, const float* x, float by, cudaStream_t stream) {
  scale<<<(count + 255) / 256, 256, 0, stream>>>(y, x, by, count);
}

// Runs the case that the command line names.
template <std::size_t n>
int run_case(const Case (&cases)[n], int words, char** word) {
  const Version version =
      words > 2 && std::strcmp(word[2], "clean") == 0 ? Version::clean : Version::faulty;
  for (const Case& one : cases) {
    if (words > 1 && std::strcmp(word[1], one.name) == 0) {
      one.run(version);
      return 0;
    }
  }
  std::printf("no such case\n");
  return 2;
}
