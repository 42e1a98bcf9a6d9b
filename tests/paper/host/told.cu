// What settings of paper change, as a program sees it: told NAME. The settings of each case are in
// ../settings_test.cpp.
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "tests/paper/host/common.cuh"

namespace {

template <typename Function>
Function* of_paper(const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  EXPECT(found != nullptr);
  return found;
}

// With PAPER_DRIVER=0 as with 12080.
void driver(Version) {
  int devices = 77, version = -1;
  EXPECT(cudaGetDeviceCount(&devices) == cudaErrorInsufficientDriver);
  EXPECT(devices == 77);
  EXPECT(cudaDriverGetVersion(&version) == cudaSuccess);
  void* x = nullptr;
  EXPECT(cudaMalloc(&x, 4) == cudaErrorInsufficientDriver);
  cublasHandle_t handle = nullptr;
  EXPECT(cublasCreate(&handle) == CUBLAS_STATUS_NOT_INITIALIZED);
  std::printf("driver %d: %s\n", version, cudaGetErrorString(cudaErrorInsufficientDriver));
}

// With PAPER_CAPABILITY=75.
void older_device(Version) {
  int major = 0;
  MUST(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT(major == 7);
  float* x = on_device();
  fill_all(x, 1, nullptr);
  EXPECT(cudaGetLastError() == cudaErrorNoKernelImageForDevice);
  MUST(cudaFree(x));
}

// With an instruction that paper does not know.
void unknown_instruction(Version) {
  float* x = on_device();
  fill_all(x, 1, nullptr);
  EXPECT(cudaGetLastError() == cudaErrorInvalidPtx);
  MUST(cudaDeviceSynchronize());  // nothing ran, and nothing failed
  MUST(cudaFree(x));
}

// Where faults strike, and how many chances they had.
void chances(Version) {
  auto* const struck = of_paper<const char*()>("paperStruck");
  auto* const chances = of_paper<std::uint64_t(const char*)>("paperChances");
  auto* const configure = of_paper<int(const char*, const char*)>("paperConfigure");
  EXPECT(configure("fail_allocation", "1") == 0);
  float* x = nullptr;
  EXPECT(cudaMalloc(&x, 4) == cudaErrorMemoryAllocation);
  EXPECT(std::string(struck()) == "cudaMalloc");
  EXPECT(configure("fail_allocation", "0") == 0);
  EXPECT(std::string(struck()).empty());
  x = on_device();
  fill_all(x, 1, nullptr);
  fill_all(x, 2, nullptr);
  MUST(cudaDeviceSynchronize());
  EXPECT(chances("fail_allocation") == 1);
  EXPECT(chances("fail_launch") == 2);
  EXPECT(chances("skip_wait") == 1);
  EXPECT(chances("no such fault") == 0);
  EXPECT(configure("memory_bytes", "1") != 0);  // too late for that
  MUST(cudaFree(x));
}

constexpr Case cases[] = {{"driver", driver},
                          {"older_device", older_device},
                          {"unknown_instruction", unknown_instruction},
                          {"chances", chances}};

}  // namespace

int main(int words, char** word) { return run_case(cases, words, word); }
