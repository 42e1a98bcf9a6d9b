// Calls that CUDA or cuBLAS forbids, planted as in faults.cu: wrong_calls NAME [clean].
#include "tests/paper/host/common.cuh"

namespace {

// Handles and devices.

void event_destroyed(Version version) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  MUST(cudaEventRecord(event, nullptr));
  if (version == Version::clean) MUST(cudaStreamWaitEvent(stream, event, 0));
  MUST(cudaEventDestroy(event));
  if (version == Version::faulty) {
    EXPECT(cudaStreamWaitEvent(stream, event, 0) == cudaErrorInvalidResourceHandle);
  }
  MUST(cudaStreamDestroy(stream));
}

void stream_destroyed(Version version) {
  float* x = on_device();
  const cudaStream_t stream = new_stream();
  if (version == Version::clean) fill_all(x, 1, stream);
  MUST(cudaStreamDestroy(stream));
  if (version == Version::faulty) {
    fill_all(x, 1, stream);
    EXPECT(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  }
  MUST(cudaFree(x));
}

void stream_of_another_device(Version version) {
  MUST(cudaSetDevice(1));
  const cudaStream_t stream = new_stream();
  float* x = on_device();
  if (version == Version::faulty) MUST(cudaSetDevice(0));
  fill_all(x, 1, stream);
  const cudaError_t error = cudaGetLastError();
  EXPECT(error == (version == Version::faulty ? cudaErrorInvalidResourceHandle : cudaSuccess));
  MUST(cudaFree(x));
  MUST(cudaStreamDestroy(stream));
}

void memory_of_another_device(Version version) {
  if (version == Version::faulty) MUST(cudaSetDevice(1));
  float* x = on_device();
  MUST(cudaSetDevice(0));
  fill_all(x, 1, nullptr);
  const cudaError_t error = cudaDeviceSynchronize();
  EXPECT(error == (version == Version::faulty ? cudaErrorIllegalAddress : cudaSuccess));
  if (version == Version::clean) MUST(cudaFree(x));
}

// Launches.

void too_many_threads(Version version) {
  float* x = on_device(2048);
  const bool faulty = version == Version::faulty;
  fill<<<faulty ? 1 : 2, faulty ? 2048 : 1024>>>(x, 1, 2048);
  EXPECT(cudaGetLastError() == (faulty ? cudaErrorInvalidConfiguration : cudaSuccess));
  MUST(cudaFree(x));
}

void too_many_blocks(Version version) {
  float* x = on_device();
  const bool faulty = version == Version::faulty;
  fill<<<faulty ? dim3(1, 70000) : dim3(4), 256>>>(x, 1, count);
  EXPECT(cudaGetLastError() == (faulty ? cudaErrorInvalidConfiguration : cudaSuccess));
  MUST(cudaFree(x));
}

void too_much_shared_memory(Version version) {
  float *x = on_device(), *result = on_device(1);
  fill_all(x, 1, nullptr);
  constexpr int shared = 64 * 1024;
  if (version == Version::clean) {
    MUST(cudaFuncSetAttribute(sum, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  }
  sum<<<1, 128, shared>>>(result, x, count);
  EXPECT((cudaGetLastError() == cudaSuccess) == (version == Version::clean));
  MUST(cudaFree(x));
  MUST(cudaFree(result));
}

// Products.

struct Blas {
  cublasHandle_t handle = nullptr;
  explicit Blas(cudaStream_t stream) {
    EXPECT(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    EXPECT(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  }
  ~Blas() { EXPECT(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS); }
  // c [20, 10] = a [20, 30] b [30, 10]
  cublasStatus_t multiply(const float* a, int lda, const float* b, float* c) const {
    const float one = 1, zero = 0;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 20, 10, 30, &one, a, lda, b, 30, &zero, c,
                       20);
  }
};

void small_leading_dimension(Version version) {
  float *a = on_device(600), *b = on_device(300), *c = on_device(200);
  fill_all(a, 1, nullptr, 600);
  fill_all(b, 1, nullptr, 300);
  const bool faulty = version == Version::faulty;
  const cublasStatus_t status = Blas(nullptr).multiply(a, faulty ? 19 : 20, b, c);
  EXPECT((status == CUBLAS_STATUS_INVALID_VALUE) == faulty);
  for (float* x : {a, b, c}) MUST(cudaFree(x));
}

void product_past_end(Version version) {
  float *a = on_device(version == Version::faulty ? 599 : 600), *b = on_device(300),
        *c = on_device(200);
  fill_all(a, 1, nullptr, 599);
  if (version == Version::clean) fill_all(a, 1, nullptr, 600);
  fill_all(b, 1, nullptr, 300);
  EXPECT(Blas(nullptr).multiply(a, 20, b, c) == CUBLAS_STATUS_SUCCESS);
  EXPECT((cudaDeviceSynchronize() == cudaSuccess) == (version == Version::clean));
  if (version == Version::clean) {
    for (float* x : {a, b, c}) MUST(cudaFree(x));
  }
}

void product_races(Version version) {
  float *a = on_device(600), *b = on_device(300), *c = on_device(200);
  const cudaStream_t stream = new_stream();
  fill_all(a, 1, nullptr, 600);
  fill_all(b, 1, nullptr, 300);
  if (version == Version::clean) MUST(cudaStreamSynchronize(nullptr));
  EXPECT(Blas(stream).multiply(a, 20, b, c) == CUBLAS_STATUS_SUCCESS);
  MUST(cudaDeviceSynchronize());
  for (float* x : {a, b, c}) MUST(cudaFree(x));
  MUST(cudaStreamDestroy(stream));
}

void shared_workspace(Version version) {
  float *a = on_device(600), *b = on_device(300), *c = on_device(200), *d = on_device(200);
  float* workspace = on_device(2048);
  fill_all(a, 1, nullptr, 600);
  fill_all(b, 1, nullptr, 300);
  MUST(cudaDeviceSynchronize());
  const cudaStream_t first = new_stream(), second = new_stream();
  {
    const Blas one(first), other(second);
    float* const its = workspace + (version == Version::clean ? 1024 : 0);
    EXPECT(cublasSetWorkspace(one.handle, workspace, 4096) == CUBLAS_STATUS_SUCCESS);
    EXPECT(cublasSetWorkspace(other.handle, its, 4096) == CUBLAS_STATUS_SUCCESS);
    EXPECT(one.multiply(a, 20, b, c) == CUBLAS_STATUS_SUCCESS);
    EXPECT(other.multiply(a, 20, b, d) == CUBLAS_STATUS_SUCCESS);
    MUST(cudaDeviceSynchronize());
  }
  for (float* x : {a, b, c, d, workspace}) MUST(cudaFree(x));
  MUST(cudaStreamDestroy(first));
  MUST(cudaStreamDestroy(second));
}

void handle_destroyed(Version version) {
  float *a = on_device(600), *b = on_device(300), *c = on_device(200);
  fill_all(a, 1, nullptr, 600);
  fill_all(b, 1, nullptr, 300);
  cublasHandle_t handle = nullptr;
  {
    const Blas blas(nullptr);
    handle = blas.handle;
    if (version == Version::clean) EXPECT(blas.multiply(a, 20, b, c) == CUBLAS_STATUS_SUCCESS);
  }
  if (version == Version::faulty) {
    EXPECT(cublasSetStream(handle, nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
  }
  for (float* x : {a, b, c}) MUST(cudaFree(x));
}

constexpr Case cases[] = {
    {"event_destroyed", event_destroyed},
    {"stream_destroyed", stream_destroyed},
    {"stream_of_another_device", stream_of_another_device},
    {"memory_of_another_device", memory_of_another_device},
    {"too_many_threads", too_many_threads},
    {"too_many_blocks", too_many_blocks},
    {"too_much_shared_memory", too_much_shared_memory},
    {"small_leading_dimension", small_leading_dimension},
    {"product_past_end", product_past_end},
    {"product_races", product_races},
    {"shared_workspace", shared_workspace},
    {"handle_destroyed", handle_destroyed},
};

}  // namespace

int main(int words, char** word) { return run_case(cases, words, word); }
