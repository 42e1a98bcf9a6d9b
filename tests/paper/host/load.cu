// How fast the host side of paper is, and how much it keeps: load NAME. Prints a figure each; the
// tests with the tag [.speed] run it.
#include <chrono>
#include <fstream>
#include <string>

#include "tests/paper/host/common.cuh"

namespace {

double seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Of this process, in MB.
double resident() {
  std::ifstream file("/proc/self/statm");
  double all = 0, here = 0;
  file >> all >> here;
  return here * 4096 / 1e6;
}

// A loop that is always a step ahead of the device: its host never waits for everything.
void pipeline(Version) {
  constexpr int steps = 20000;
  float *x = on_device(), *y = on_device();
  const cudaStream_t compute = new_stream(), transfer = new_stream();
  cudaEvent_t ready[2] = {new_event(), new_event()}, done[2] = {new_event(), new_event()};
  fill_all(x, 1, compute, 32);
  MUST(cudaDeviceSynchronize());
  const double before = resident();
  const double seconds = seconds_of([&] {
    for (int step = 0; step < steps; ++step) {
      const int slot = step % 2;
      if (step >= 2) MUST(cudaEventSynchronize(done[slot]));
      fill<<<1, 32, 0, compute>>>(x, static_cast<float>(step), 32);
      MUST(cudaEventRecord(ready[slot], compute));
      MUST(cudaStreamWaitEvent(transfer, ready[slot], 0));
      MUST(cudaMemcpyAsync(y, x, 128, cudaMemcpyDeviceToDevice, transfer));
      MUST(cudaEventRecord(done[slot], transfer));
      MUST(cudaStreamWaitEvent(compute, done[slot], 0));
    }
    MUST(cudaDeviceSynchronize());
  });
  std::printf("%.1f us an operation, %.1f MB more memory after %d operations\n",
              seconds / (2 * steps) * 1e6, resident() - before, 2 * steps);
}

void allocations(Version) {
  constexpr int rounds = 20000;
  const double before = resident();
  const double seconds = seconds_of([] {
    for (int i = 0; i < rounds; ++i) MUST(cudaFree(on_device()));
  });
  std::printf("%.1f us an allocation and its release, %.1f MB more memory after %d\n",
              seconds / rounds * 1e6, resident() - before, rounds);
}

void copies(Version) {
  constexpr int rounds = 200;
  constexpr std::size_t numbers = 1 << 20;
  float *x = on_device(numbers), *host = pinned(numbers);
  std::memset(host, 0, numbers * sizeof(float));
  const double seconds = seconds_of([&] {
    for (int i = 0; i < rounds; ++i) {
      MUST(cudaMemcpy(x, host, numbers * sizeof(float), cudaMemcpyHostToDevice));
    }
  });
  std::printf("%.2f GB/s copied\n", rounds * numbers * sizeof(float) / seconds / 1e9);
}

void products(Version) {
  cublasHandle_t handle = nullptr;
  EXPECT(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  for (const int n : {16, 64, 256, 768}) {
    const auto numbers = static_cast<std::size_t>(n) * n;
    float *a = on_device(numbers), *b = on_device(numbers), *c = on_device(numbers);
    MUST(cudaMemset(a, 0, numbers * sizeof(float)));
    MUST(cudaMemset(b, 0, numbers * sizeof(float)));
    const int rounds = n < 256 ? 300 : 5;
    const double seconds = seconds_of([&] {
      for (int i = 0; i < rounds; ++i) {
        EXPECT(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c,
                           n) == CUBLAS_STATUS_SUCCESS);
      }
      MUST(cudaDeviceSynchronize());
    });
    std::printf("%d x %d x %d: %.2f GFLOP/s, %.1f us a product\n", n, n, n,
                2.0 * n * n * n * rounds / seconds / 1e9, seconds / rounds * 1e6);
  }
}

constexpr Case cases[] = {{"pipeline", pipeline},
                          {"allocations", allocations},
                          {"copies", copies},
                          {"products", products}};

}  // namespace

int main(int words, char** word) { return run_case(cases, words, word); }
