// Faults of ordering and of memory, planted: each function has one, and is right without it. The
// program is compiled once and run for each: faults NAME [clean]. What paper must say of each is in
// ../host_faults_test.cpp.
#include "tests/paper/host/common.cuh"

namespace {

// Streams.

// y := 2 x on another stream; in the faulty version it does not wait for x.
void forgotten_wait(Version version) {
  float *x = on_device(), *y = on_device();
  const cudaStream_t first = new_stream(), second = new_stream();
  const cudaEvent_t filled = new_event();
  MUST(cudaMemset(x, 0, bytes));
  MUST(cudaDeviceSynchronize());
  fill_all(x, 1, first);
  MUST(cudaEventRecord(filled, first));
  if (version == Version::clean) MUST(cudaStreamWaitEvent(second, filled, 0));
  scale_all(y, x, 2, second);
  MUST(cudaDeviceSynchronize());
  std::vector<float> result(count);
  MUST(cudaMemcpy(result.data(), y, bytes, cudaMemcpyDeviceToHost));
  std::printf("value %g\n", static_cast<double>(result[7]));
  MUST(cudaFree(x));
  MUST(cudaFree(y));
  MUST(cudaEventDestroy(filled));
  MUST(cudaStreamDestroy(first));
  MUST(cudaStreamDestroy(second));
}

// An event that is recorded too early orders nothing of what comes later.
void early_record(Version version) {
  float *x = on_device(), *y = on_device();
  const cudaStream_t first = new_stream(), second = new_stream();
  const cudaEvent_t filled = new_event();
  if (version == Version::faulty) MUST(cudaEventRecord(filled, first));
  fill_all(x, 1, first);
  if (version == Version::clean) MUST(cudaEventRecord(filled, first));
  MUST(cudaStreamWaitEvent(second, filled, 0));
  scale_all(y, x, 2, second);
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(x));
  MUST(cudaFree(y));
  MUST(cudaEventDestroy(filled));
  MUST(cudaStreamDestroy(first));
  MUST(cudaStreamDestroy(second));
}

void copy_races_kernel(Version version) {
  float *x = on_device(), *host = pinned();
  const cudaStream_t compute = new_stream(), transfer = new_stream();
  fill_all(x, 1, compute);
  if (version == Version::clean) MUST(cudaStreamSynchronize(compute));
  MUST(cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, transfer));
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(x));
  MUST(cudaFreeHost(host));
  MUST(cudaStreamDestroy(compute));
  MUST(cudaStreamDestroy(transfer));
}

// cudaMemcpy from pageable memory returns when the bytes are staged; they land on the default
// stream, for which a stream with cudaStreamNonBlocking does not wait.
void default_stream_is_no_wait(Version version) {
  float *x = on_device(), *y = on_device();
  const cudaStream_t stream = new_stream();
  const std::vector<float> host(count, 1);
  MUST(cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice));
  if (version == Version::clean) MUST(cudaDeviceSynchronize());
  scale_all(y, x, 2, stream);
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(x));
  MUST(cudaFree(y));
  MUST(cudaStreamDestroy(stream));
}

void pinned_changed(Version version) {
  float *x = on_device(), *host = pinned();
  const cudaStream_t stream = new_stream();
  for (int step = 0; step < 2; ++step) {
    for (int i = 0; i < count; ++i) host[i] = static_cast<float>(step);
    MUST(cudaMemcpyAsync(x, host, bytes, cudaMemcpyHostToDevice, stream));
    if (version == Version::clean) MUST(cudaStreamSynchronize(stream));
  }
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(x));
  MUST(cudaFreeHost(host));
  MUST(cudaStreamDestroy(stream));
}

void pinned_read_early(Version version) {
  float *x = on_device(), *host = pinned();
  const cudaStream_t stream = new_stream();
  fill_all(x, 3, stream);
  MUST(cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, stream));
  if (version == Version::clean) MUST(cudaStreamSynchronize(stream));
  std::printf("value %g\n", static_cast<double>(host[7]));
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(x));
  MUST(cudaFreeHost(host));
  MUST(cudaStreamDestroy(stream));
}

void pinned_written_twice(Version version) {
  float *x = on_device(), *y = on_device(), *host = pinned(2 * count);
  const cudaStream_t first = new_stream(), second = new_stream();
  fill_all(x, 1, first);
  fill_all(y, 2, second);
  MUST(cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, first));
  float* const other = host + (version == Version::clean ? count : 0);
  MUST(cudaMemcpyAsync(other, y, bytes, cudaMemcpyDeviceToHost, second));
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(x));
  MUST(cudaFree(y));
  MUST(cudaFreeHost(host));
  MUST(cudaStreamDestroy(first));
  MUST(cudaStreamDestroy(second));
}

void pinned_freed_early(Version version) {
  float *x = on_device(), *host = pinned();
  const cudaStream_t stream = new_stream();
  std::memset(host, 0, bytes);
  MUST(cudaMemcpyAsync(x, host, bytes, cudaMemcpyHostToDevice, stream));
  if (version == Version::clean) MUST(cudaStreamSynchronize(stream));
  MUST(cudaFreeHost(host));
  MUST(cudaFree(x));
  MUST(cudaStreamDestroy(stream));
}

void callback_calls_cuda(Version version) {
  static float* x = nullptr;
  x = on_device();
  MUST(cudaLaunchHostFunc(
      nullptr,
      [](void* faulty) {
        if (faulty != nullptr) cudaMemset(x, 0, bytes);
      },
      version == Version::faulty ? x : nullptr));
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(x));
}

// Memory.

void used_after_free(Version version) {
  float* x = on_device();
  if (version == Version::faulty) MUST(cudaFree(x));
  fill_all(x, 1, nullptr);
  const cudaError_t error = cudaDeviceSynchronize();
  if (version == Version::faulty) EXPECT(error == cudaErrorIllegalAddress);
  if (version == Version::clean) MUST(cudaFree(x));
}

void freed_twice(Version version) {
  float* x = on_device();
  MUST(cudaFree(x));
  if (version == Version::faulty) EXPECT(cudaFree(x) == cudaErrorInvalidValue);
}

void freed_as_another(Version version) {
  float* host = pinned();
  if (version == Version::faulty) EXPECT(cudaFree(host) == cudaErrorInvalidValue);
  MUST(cudaFreeHost(host));
}

void leaked(Version version) {
  float* x = on_device();
  if (version == Version::clean) MUST(cudaFree(x));
}

void leaked_pinned(Version version) {
  float* host = pinned();
  if (version == Version::clean) MUST(cudaFreeHost(host));
}

void leaked_stream(Version version) {
  const cudaStream_t stream = new_stream();
  if (version == Version::clean) MUST(cudaStreamDestroy(stream));
}

void host_reads_device(Version version) {
  float* x = on_device();
  fill_all(x, 1, nullptr);
  MUST(cudaDeviceSynchronize());
  float value = 0;
  if (version == Version::faulty) value = x[7];
  std::printf("value %g\n", static_cast<double>(value));
  MUST(cudaFree(x));
}

void wrong_kind(Version version) {
  float* x = on_device();
  const std::vector<float> host(count, 1);
  const bool faulty = version == Version::faulty;
  const cudaError_t error =
      cudaMemcpy(x, host.data(), bytes, faulty ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice);
  EXPECT((error == cudaErrorInvalidValue) == faulty);
  MUST(cudaFree(x));
}

void copy_past_end(Version version) {
  float* x = on_device();
  const std::vector<float> host(count + 2, 1);
  const bool faulty = version == Version::faulty;
  const cudaError_t error =
      cudaMemcpy(x, host.data(), bytes + (faulty ? 8 : 0), cudaMemcpyHostToDevice);
  EXPECT((error == cudaErrorInvalidValue) == faulty);
  MUST(cudaFree(x));
}

void copy_of_nothing_written(Version version) {
  float* x = on_device();
  if (version == Version::clean) MUST(cudaMemset(x, 0, bytes));
  std::vector<float> host(count);
  MUST(cudaMemcpy(host.data(), x, bytes, cudaMemcpyDeviceToHost));
  MUST(cudaFree(x));
}

void copy_overlaps(Version version) {
  float* x = on_device(2 * count);
  MUST(cudaMemset(x, 0, 2 * bytes));
  const bool faulty = version == Version::faulty;
  const cudaError_t error =
      cudaMemcpyAsync(x + (faulty ? 1 : count), x, bytes, cudaMemcpyDeviceToDevice, nullptr);
  EXPECT((error == cudaErrorInvalidValue) == faulty);
  MUST(cudaFree(x));
}

constexpr Case cases[] = {
    {"forgotten_wait", forgotten_wait},
    {"early_record", early_record},
    {"copy_races_kernel", copy_races_kernel},
    {"default_stream_is_no_wait", default_stream_is_no_wait},
    {"pinned_changed", pinned_changed},
    {"pinned_read_early", pinned_read_early},
    {"pinned_written_twice", pinned_written_twice},
    {"pinned_freed_early", pinned_freed_early},
    {"callback_calls_cuda", callback_calls_cuda},
    {"used_after_free", used_after_free},
    {"freed_twice", freed_twice},
    {"freed_as_another", freed_as_another},
    {"leaked", leaked},
    {"leaked_pinned", leaked_pinned},
    {"leaked_stream", leaked_stream},
    {"host_reads_device", host_reads_device},
    {"wrong_kind", wrong_kind},
    {"copy_past_end", copy_past_end},
    {"copy_of_nothing_written", copy_of_nothing_written},
    {"copy_overlaps", copy_overlaps},
};

}  // namespace

int main(int words, char** word) { return run_case(cases, words, word); }
