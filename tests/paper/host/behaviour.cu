// What CUDA promises, held against paper: each case ends with exit code 0 and without findings.
// behaviour NAME; what a case needs of the settings is in ../host_test.cpp.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <thread>

#include "tests/paper/host/common.cuh"

namespace {

__device__ float factor = 2;
__constant__ float offsets[4];

__global__ void transform(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * factor + offsets[i % 4];
}

std::vector<float> copied(const float* x, int n = count) {
  std::vector<float> host(static_cast<std::size_t>(n));
  MUST(cudaMemcpy(host.data(), x, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return host;
}

bool all_are(const std::vector<float>& values, float expected) {
  for (const float value : values) {
    if (value != expected) return false;
  }
  return true;
}

void values(Version) {
  float *x = on_device(), *y = on_device();
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  fill_all(x, 3, stream);
  scale_all(y, x, 2, stream);
  void* arguments[] = {&x, &y, nullptr, nullptr};
  float by = 5;
  int n = count;
  arguments[2] = &by;
  arguments[3] = &n;
  MUST(cudaLaunchKernel(scale, 4, 256, arguments, 0, stream));  // x = 5 y
  MUST(cudaStreamSynchronize(stream));
  EXPECT(all_are(copied(x), 30));
  MUST(cudaStreamDestroy(stream));
  MUST(cudaFree(x));
  MUST(cudaFree(y));
}

void shared_memory(Version) {
  float *x = on_device(), *result = on_device(1);
  fill_all(x, 0.5F, nullptr);
  sum<<<1, 96, 96 * sizeof(float)>>>(result, x, count);
  EXPECT(all_are(copied(result, 1), count / 2));
  MUST(cudaFree(x));
  MUST(cudaFree(result));
}

void symbols(Version) {
  float* x = on_device();
  fill_all(x, 1, nullptr);
  const float given[] = {10, 20, 30, 40};
  MUST(cudaMemcpyToSymbol(offsets, given, sizeof given));
  transform<<<4, 256>>>(x, count);
  const std::vector<float> host = copied(x);
  for (int i = 0; i < 8; ++i) EXPECT(host[i] == 2 + given[i % 4]);
  float read = 0;
  MUST(cudaMemcpyFromSymbol(&read, offsets, sizeof read, 2 * sizeof read));
  EXPECT(read == 30);
  float* address = nullptr;
  MUST(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), factor));
  fill_all(address, 7, nullptr, 1);
  MUST(cudaMemcpyFromSymbol(&read, factor, sizeof read));
  EXPECT(read == 7);
  MUST(cudaFree(x));
}

// A call that fails is told once; the next ones are fine.
void errors_are_told_once(Version) {
  EXPECT(cudaSetDevice(99) == cudaErrorInvalidDevice);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(cudaFree(nullptr) == cudaSuccess);
  EXPECT(std::string(cudaGetErrorName(cudaErrorInvalidDevice)) == "cudaErrorInvalidDevice");
  EXPECT(std::string(cudaGetErrorString(cudaErrorInvalidDevice)) == "invalid device ordinal");
  EXPECT(std::string(cudaGetErrorName(static_cast<cudaError_t>(12345))) ==
         "unrecognized error code");
}

// What an operation does wrong stays: run with a finding expected.
void errors_of_kernels_stay(Version) {
  float* x = on_device();
  fill_all(x, 1, nullptr, count + 1);
  MUST(cudaGetLastError());  // the launch itself was fine
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
  EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
  EXPECT(cudaFree(x) == cudaErrorIllegalAddress);
  EXPECT(cudaMalloc(&x, 4) == cudaErrorIllegalAddress);
  int device = 1;
  EXPECT(cudaGetDevice(&device) == cudaSuccess);
}

// With the setting fail_allocation = 2.
void second_allocation_fails(Version) {
  float* x = on_device();
  float* y = x;
  EXPECT(cudaMalloc(&y, bytes) == cudaErrorMemoryAllocation);
  EXPECT(y == nullptr);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
  y = on_device();
  MUST(cudaFree(x));
  MUST(cudaFree(y));
}

// With the setting fail_launch = 2.
void second_launch_fails(Version) {
  float* x = on_device();
  fill_all(x, 1, nullptr);
  MUST(cudaGetLastError());
  fill_all(x, 2, nullptr);
  EXPECT(cudaGetLastError() == cudaErrorLaunchOutOfResources);
  EXPECT(all_are(copied(x), 1));
  MUST(cudaFree(x));
}

// With a device of 1 MiB.
void memory_is_limited(Version) {
  std::size_t left = 0, total = 0;
  MUST(cudaMemGetInfo(&left, &total));
  EXPECT(total == 1 << 20 && left == total);
  void* x = nullptr;
  EXPECT(cudaMalloc(&x, (1 << 20) + 1) == cudaErrorMemoryAllocation);
  MUST(cudaMalloc(&x, 1 << 19));
  MUST(cudaMemGetInfo(&left, &total));
  EXPECT(left == 1 << 19);
  MUST(cudaFree(x));
  MUST(cudaMalloc(&x, 1 << 20));
  MUST(cudaFree(x));
  MUST(cudaMalloc(&x, 0));
  EXPECT(x == nullptr);
}

// Pageable memory is staged: the host may change it at once.
void pageable_memory_is_staged(Version) {
  float* x = on_device();
  const cudaStream_t stream = new_stream();
  {
    std::vector<float> host(count, 4);
    MUST(cudaMemcpyAsync(x, host.data(), bytes, cudaMemcpyHostToDevice, stream));
    for (float& value : host) value = 5;
  }
  std::vector<float> back(count);
  MUST(cudaMemcpyAsync(back.data(), x, bytes, cudaMemcpyDeviceToHost, stream));
  EXPECT(all_are(back, 4));
  MUST(cudaFree(x));
  MUST(cudaStreamDestroy(stream));
}

void events(Version) {
  float *x = on_device(), *y = on_device();
  const cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t event = new_event(), timed = nullptr;
  MUST(cudaEventQuery(event));  // never recorded: complete, and no wait
  MUST(cudaEventSynchronize(event));
  MUST(cudaStreamWaitEvent(second, event, 0));
  fill_all(x, 1, first);
  MUST(cudaEventRecord(event, first));
  cudaError_t answer = cudaErrorNotReady;
  while ((answer = cudaEventQuery(event)) == cudaErrorNotReady) {
  }
  EXPECT(answer == cudaSuccess);
  (void)cudaGetLastError();    // not ready is remembered, as in CUDA
  scale_all(y, x, 2, second);  // the host knows that x is there
  MUST(cudaEventRecord(event, second));
  MUST(cudaEventSynchronize(event));
  EXPECT(all_are(copied(y), 2));
  MUST(cudaEventCreate(&timed));
  MUST(cudaEventRecord(timed, second));
  MUST(cudaEventSynchronize(timed));
  float milliseconds = 1;
  MUST(cudaEventElapsedTime(&milliseconds, timed, timed));
  EXPECT(milliseconds == 0);
  while (cudaStreamQuery(second) == cudaErrorNotReady) {
  }
  MUST(cudaEventDestroy(event));
  MUST(cudaEventDestroy(timed));
  MUST(cudaStreamDestroy(first));
  MUST(cudaStreamDestroy(second));
  MUST(cudaFree(x));
  MUST(cudaFree(y));
}

// Blocking streams and the default one wait for each other, without any event.
void default_stream(Version) {
  float *x = on_device(), *y = on_device(), *z = on_device();
  cudaStream_t first = nullptr, second = nullptr;
  MUST(cudaStreamCreate(&first));
  MUST(cudaStreamCreate(&second));
  fill_all(x, 1, first);
  scale_all(y, x, 2, nullptr);
  scale_all(z, y, 3, second);
  scale_all(x, z, 2, cudaStreamLegacy);
  scale_all(y, x, 1, cudaStreamPerThread);
  EXPECT(all_are(copied(y), 12));
  MUST(cudaStreamDestroy(first));
  MUST(cudaStreamDestroy(second));
  for (float* memory : {x, y, z}) MUST(cudaFree(memory));
}

void callbacks(Version) {
  static std::string said;
  const cudaStream_t stream = new_stream();
  static const char* const words[] = {"one ", "two ", "three"};
  for (const char* word : words) {
    MUST(cudaLaunchHostFunc(
        stream, [](void* text) { said += static_cast<const char*>(text); },
        const_cast<char*>(word)));
  }
  MUST(cudaStreamSynchronize(stream));
  EXPECT(said == "one two three");
  MUST(cudaStreamDestroy(stream));
}

int exit_code_of_child(int (*child)()) {
  const pid_t pid = fork();
  if (pid == 0) _exit(child());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Processes that fork before they use a device have one each; a child of one that had cannot.
void forked(Version) {
  const auto works = [] {
    float* x = on_device();
    fill_all(x, 1, nullptr);
    const bool right = all_are(copied(x), 1);
    MUST(cudaFree(x));
    return right ? 0 : 1;
  };
  EXPECT(exit_code_of_child(works) == 0);
  EXPECT(exit_code_of_child(works) == 0);
  EXPECT(works() == 0);
  EXPECT(exit_code_of_child([] {
           void* x = nullptr;
           return cudaMalloc(&x, 4) == cudaErrorInitializationError ? 0 : 1;
         }) == 0);
}

void threads(Version) {
  float* x[2] = {on_device(), on_device()};
  std::vector<std::thread> running;
  for (int i = 0; i < 2; ++i) {
    running.emplace_back([&, i] {
      const cudaStream_t stream = new_stream();
      for (int round = 0; round < 50; ++round) fill_all(x[i], static_cast<float>(i), stream);
      MUST(cudaStreamSynchronize(stream));
      MUST(cudaStreamDestroy(stream));
    });
  }
  for (std::thread& thread : running) thread.join();
  for (int i = 0; i < 2; ++i) {
    EXPECT(all_are(copied(x[i]), static_cast<float>(i)));
    MUST(cudaFree(x[i]));
  }
}

void attributes(Version) {
  cudaDeviceProp properties{};
  MUST(cudaGetDeviceProperties(&properties, 0));
  EXPECT(std::string(properties.name).find("paper") == 0);
  EXPECT(properties.major == 8 && properties.warpSize == 32);
  int value = 0;
  MUST(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(value == properties.multiProcessorCount);
  float *x = on_device(), *host = pinned();
  cudaPointerAttributes of{};
  MUST(cudaPointerGetAttributes(&of, x + 1));
  EXPECT(of.type == cudaMemoryTypeDevice && of.device == 0);
  MUST(cudaPointerGetAttributes(&of, host + 1));
  EXPECT(of.type == cudaMemoryTypeHost);
  MUST(cudaPointerGetAttributes(&of, &of));
  EXPECT(of.type == cudaMemoryTypeUnregistered);
  cudaFuncAttributes kernel{};
  MUST(cudaFuncGetAttributes(&kernel, fill));
  EXPECT(kernel.maxThreadsPerBlock == 1024 && kernel.sharedSizeBytes == 0);
  int blocks = 0;
  MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
  EXPECT(blocks == 8);
  MUST(cudaFree(x));
  MUST(cudaFreeHost(host));
}

// What is not paper's remains the program's: its own handler sees its own fault.
void other_faults_are_passed_on(Version) {
  struct sigaction action = {};
  action.sa_handler = [](int) { _exit(0); };
  sigaction(SIGSEGV, &action, nullptr);
  MUST(cudaDeviceSynchronize());
  volatile int* const nowhere = reinterpret_cast<int*>(std::uintptr_t{16});
  *nowhere = 1;
  std::exit(1);
}

constexpr Case cases[] = {
    {"values", values},
    {"shared_memory", shared_memory},
    {"symbols", symbols},
    {"errors_are_told_once", errors_are_told_once},
    {"errors_of_kernels_stay", errors_of_kernels_stay},
    {"second_allocation_fails", second_allocation_fails},
    {"second_launch_fails", second_launch_fails},
    {"memory_is_limited", memory_is_limited},
    {"pageable_memory_is_staged", pageable_memory_is_staged},
    {"events", events},
    {"default_stream", default_stream},
    {"callbacks", callbacks},
    {"forked", forked},
    {"threads", threads},
    {"attributes", attributes},
    {"other_faults_are_passed_on", other_faults_are_passed_on},
};

}  // namespace

int main(int words, char** word) { return run_case(cases, words, word); }
