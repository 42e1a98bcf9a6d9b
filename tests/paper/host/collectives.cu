// What NCCL's calls come to, on all types and operators: collectives NAME RANKS.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "tests/paper/host/ranks.cuh"

namespace {

constexpr std::size_t counts[] = {0, 1, 7, 1000};

template <typename T>
constexpr ncclDataType_t type_of = ncclNumTypes;
template <>
constexpr ncclDataType_t type_of<std::int8_t> = ncclInt8;
template <>
constexpr ncclDataType_t type_of<std::uint8_t> = ncclUint8;
template <>
constexpr ncclDataType_t type_of<std::int32_t> = ncclInt32;
template <>
constexpr ncclDataType_t type_of<std::uint32_t> = ncclUint32;
template <>
constexpr ncclDataType_t type_of<std::int64_t> = ncclInt64;
template <>
constexpr ncclDataType_t type_of<std::uint64_t> = ncclUint64;
template <>
constexpr ncclDataType_t type_of<float> = ncclFloat32;
template <>
constexpr ncclDataType_t type_of<double> = ncclFloat64;
template <>
constexpr ncclDataType_t type_of<__half> = ncclFloat16;
template <>
constexpr ncclDataType_t type_of<__nv_bfloat16> = ncclBfloat16;

template <typename T>
double number(T x) {
  return static_cast<double>(x);
}
double number(__half x) { return __half2float(x); }
double number(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T>
T element(int x) {
  return static_cast<T>(x);
}
template <>
__half element(int x) {
  return __float2half(static_cast<float>(x));
}
template <>
__nv_bfloat16 element(int x) {
  return __float2bfloat16(static_cast<float>(x));
}

// Small enough that sums and products of five are exact in every type.
int given(int rank, std::size_t i) { return static_cast<int>((i + 2 * rank) % 3) + 1; }

template <typename T>
std::vector<T> given_by(int rank, std::size_t n) {
  std::vector<T> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = element<T>(given(rank, i));
  return all;
}

double reduced(ncclRedOp_t op, int ranks, std::size_t i) {
  double result = given(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    const double x = given(rank, i);
    result = op == ncclProd  ? result * x
             : op == ncclMax ? std::fmax(result, x)
             : op == ncclMin ? std::fmin(result, x)
                             : result + x;
  }
  return op == ncclAvg ? result / ranks : result;
}

template <typename T>
bool near(T found, double expected, ncclRedOp_t op) {
  if (op != ncclAvg) return number(found) == expected;
  if (type_of<T> < ncclFloat16) return number(found) == std::floor(expected);
  return std::fabs(number(found) - expected) < 0.02;  // a bfloat16 has 8 bits
}

template <typename T>
void reductions(const Rank& is, ncclComm_t comm, cudaStream_t stream) {
  const ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};
  const int root = is.ranks - 1;
  for (const std::size_t n : counts) {
    for (const ncclRedOp_t op : ops) {
      T* const own = to_device(given_by<T>(is.rank, n * is.ranks));
      T *all = nullptr, *block = nullptr;
      MUST(cudaMalloc(&all, (n + 1) * sizeof(T)));
      MUST(cudaMalloc(&block, (n + 1) * sizeof(T)));
      MUST(ncclAllReduce(own, all, n, type_of<T>, op, comm, stream));
      MUST(ncclReduceScatter(own, block, n, type_of<T>, op, comm, stream));
      MUST(ncclReduce(own, own, n, type_of<T>, op, root, comm, stream));  // in place
      MUST(cudaStreamSynchronize(stream));
      const auto found = to_host(all, n), scattered = to_host(block, n), at_root = to_host(own, n);
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT(near(found[i], reduced(op, is.ranks, i), op));
        EXPECT(near(scattered[i], reduced(op, is.ranks, is.rank * n + i), op));
        const double expected = is.rank == root ? reduced(op, is.ranks, i) : given(is.rank, i);
        EXPECT(near(at_root[i], expected, is.rank == root ? op : ncclSum));
      }
      MUST(cudaFree(own));
      MUST(cudaFree(all));
      MUST(cudaFree(block));
    }
  }
}

template <typename T>
void copies(const Rank& is, ncclComm_t comm, cudaStream_t stream) {
  for (const std::size_t n : counts) {
    T* const own = to_device(given_by<T>(is.rank, n));
    T *gathered = nullptr, *got = nullptr;
    MUST(cudaMalloc(&gathered, (n * is.ranks + 1) * sizeof(T)));
    MUST(cudaMalloc(&got, (n + 1) * sizeof(T)));
    const int right = (is.rank + 1) % is.ranks, left = (is.rank + is.ranks - 1) % is.ranks;
    MUST(ncclAllGather(own, gathered, n, type_of<T>, comm, stream));
    MUST(ncclGroupStart());
    MUST(ncclSend(own, n, type_of<T>, right, comm, stream));
    MUST(ncclRecv(got, n, type_of<T>, left, comm, stream));
    MUST(ncclGroupEnd());
    MUST(cudaStreamSynchronize(stream));
    const auto all = to_host(gathered, n * is.ranks), received = to_host(got, n);
    for (std::size_t i = 0; i < n * is.ranks; ++i) {
      EXPECT(number(all[i]) == given(static_cast<int>(i / n), i % n));
    }
    for (std::size_t i = 0; i < n; ++i) EXPECT(number(received[i]) == given(left, i));
    for (int root = 0; root < is.ranks; ++root) {
      MUST(ncclBroadcast(own, got, n, type_of<T>, root, comm, stream));
      MUST(cudaStreamSynchronize(stream));
      const auto found = to_host(got, n);
      for (std::size_t i = 0; i < n; ++i) EXPECT(number(found[i]) == given(root, i));
    }
    MUST(cudaFree(own));
    MUST(cudaFree(gathered));
    MUST(cudaFree(got));
  }
}

template <typename... T>
void each_type(const Rank& is, ncclComm_t comm, cudaStream_t stream) {
  (reductions<T>(is, comm, stream), ...);
  (copies<T>(is, comm, stream), ...);
}

void types(const Rank& is) {
  ncclComm_t comm = join(is);
  cudaStream_t stream = new_stream();
  each_type<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t,
            float, double, __half, __nv_bfloat16>(is, comm, stream);
  MUST(ncclCommDestroy(comm));
  MUST(cudaStreamDestroy(stream));
}

// A factor of the host's, and one on the device that a kernel writes before.
void factors(const Rank& is) {
  ncclComm_t comm = join(is);
  cudaStream_t stream = new_stream();
  float half = 0.5F, *factor = on_device(1), *x = on_device(), *y = on_device();
  ncclRedOp_t by_half, by_device;
  MUST(ncclRedOpCreatePreMulSum(&by_half, &half, ncclFloat32, ncclScalarHostImmediate, comm));
  MUST(ncclRedOpCreatePreMulSum(&by_device, factor, ncclFloat32, ncclScalarDevice, comm));
  half = 7;
  fill_all(factor, static_cast<float>(is.rank + 1), stream, 1);
  fill_all(x, 2, stream);
  MUST(ncclAllReduce(x, y, count, ncclFloat32, by_half, comm, stream));
  MUST(ncclAllReduce(x, x, count, ncclFloat32, by_device, comm, stream));
  MUST(cudaStreamSynchronize(stream));
  EXPECT(to_host(y, count)[count - 1] == static_cast<float>(is.ranks));
  EXPECT(to_host(x, count)[0] == static_cast<float>(is.ranks * (is.ranks + 1)));
  MUST(ncclRedOpDestroy(by_half, comm));
  MUST(ncclRedOpDestroy(by_device, comm));
  MUST(ncclCommDestroy(comm));
  for (float* each : {factor, x, y}) MUST(cudaFree(each));
  MUST(cudaStreamDestroy(stream));
}

// Training's shape: a kernel writes, the communicator's stream waits for it and sums in place, the
// first stream waits for that.
void streams(const Rank& is) {
  ncclComm_t comm = join(is);
  cudaStream_t compute = new_stream(), wire = new_stream();
  cudaEvent_t made = new_event(), summed = new_event();
  float *x = on_device(), *y = on_device();
  for (int step = 1; step <= 20; ++step) {
    fill_all(x, static_cast<float>(step + is.rank), compute);
    MUST(cudaEventRecord(made, compute));
    MUST(cudaStreamWaitEvent(wire, made, 0));
    MUST(ncclAllReduce(x, x, count, ncclFloat32, ncclSum, comm, wire));
    MUST(cudaEventRecord(summed, wire));
    MUST(cudaStreamWaitEvent(compute, summed, 0));
    scale_all(y, x, 2, compute);
  }
  MUST(cudaStreamSynchronize(compute));
  const int sum = is.ranks * 20 + is.ranks * (is.ranks - 1) / 2;
  EXPECT(to_host(y, count)[5] == static_cast<float>(2 * sum));
  MUST(ncclCommDestroy(comm));
  for (float* each : {x, y}) MUST(cudaFree(each));
  for (cudaEvent_t each : {made, summed}) MUST(cudaEventDestroy(each));
  for (cudaStream_t each : {compute, wire}) MUST(cudaStreamDestroy(each));
}

// Two communicators on two streams, which half of the ranks wait for in the other order. On a GPU
// both are under way at once.
void two_communicators(const Rank& is) {
  ncclComm_t first = join(is), second = nullptr;
  MUST(ncclCommSplit(first, 0, is.rank, &second, nullptr));
  cudaStream_t one = new_stream(), two = new_stream();
  float *x = on_device(), *y = on_device();
  fill_all(x, 1, one);
  fill_all(y, 2, two);
  if (is.rank % 2 == 0) {
    MUST(ncclAllReduce(x, x, count, ncclFloat32, ncclSum, first, one));
    MUST(cudaStreamSynchronize(one));
    MUST(ncclAllReduce(y, y, count, ncclFloat32, ncclSum, second, two));
    MUST(cudaStreamSynchronize(two));
  } else {
    MUST(ncclAllReduce(y, y, count, ncclFloat32, ncclSum, second, two));
    MUST(ncclAllReduce(x, x, count, ncclFloat32, ncclSum, first, one));
    MUST(cudaStreamSynchronize(two));
    MUST(cudaStreamSynchronize(one));
  }
  EXPECT(to_host(x, count)[0] == static_cast<float>(is.ranks));
  EXPECT(to_host(y, count)[9] == static_cast<float>(2 * is.ranks));
  MUST(ncclCommDestroy(second));
  MUST(ncclCommDestroy(first));
  for (float* each : {x, y}) MUST(cudaFree(each));
  for (cudaStream_t each : {one, two}) MUST(cudaStreamDestroy(each));
}

// Rank 0 waits for the others' hosts, not for its stream, while they wait for the sum.
void host_elsewhere(const Rank& is, int (&pipes)[2]) {
  ncclComm_t comm = join(is);
  float* x = on_device();
  fill_all(x, 1, nullptr);
  MUST(ncclAllReduce(x, x, count, ncclFloat32, ncclSum, comm, nullptr));
  char byte = 1;
  if (is.rank == 0) {
    for (int other = 1; other < is.ranks; ++other) EXPECT(read(pipes[0], &byte, 1) == 1);
  }
  MUST(cudaStreamSynchronize(nullptr));
  if (is.rank != 0) EXPECT(write(pipes[1], &byte, 1) == 1);
  EXPECT(to_host(x, count)[0] == static_cast<float>(is.ranks));
  MUST(ncclCommDestroy(comm));
  MUST(cudaFree(x));
}

// One communicator on many streams: its calls follow each other, whatever is waited for first.
void many_streams(const Rank& is) {
  ncclComm_t comm = join(is);
  cudaStream_t streams[6];
  float* x[6];
  for (int i = 0; i < 6; ++i) {
    streams[i] = new_stream();
    x[i] = on_device();
    fill_all(x[i], static_cast<float>(i + is.rank), streams[i]);
    MUST(ncclAllReduce(x[i], x[i], count, ncclFloat32, ncclSum, comm, streams[i]));
  }
  for (int i = 0; i < 6; ++i) MUST(cudaStreamSynchronize(streams[(i * 5 + is.rank) % 6]));
  const int all = is.ranks * (is.ranks - 1) / 2;
  for (int i = 0; i < 6; ++i) {
    EXPECT(to_host(x[i], count)[3] == static_cast<float>(is.ranks * i + all));
    MUST(cudaFree(x[i]));
    MUST(cudaStreamDestroy(streams[i]));
  }
  MUST(ncclCommDestroy(comm));
}

// Each sends something else to each, itself too, among two sums: one group.
void group_of_all(const Rank& is) {
  ncclComm_t comm = join(is);
  std::vector<float> mine;
  for (int to = 0; to < is.ranks; ++to) mine.push_back(static_cast<float>(100 * is.rank + to));
  float *out = to_device(mine), *in = on_device(is.ranks), *again = on_device(is.ranks),
        *ones = to_device(std::vector<float>(is.ranks, 1)), *x = on_device(), *y = on_device();
  fill_all(x, 1, nullptr);
  MUST(ncclGroupStart());
  MUST(ncclAllReduce(x, y, count, ncclFloat32, ncclSum, comm, nullptr));
  for (int peer = 0; peer < is.ranks; ++peer) {
    MUST(ncclSend(out + peer, 1, ncclFloat32, peer, comm, nullptr));
    MUST(ncclRecv(in + peer, 1, ncclFloat32, peer, comm, nullptr));
    MUST(ncclSend(ones + peer, 1, ncclFloat32, peer, comm, nullptr));  // the pair's second message
    MUST(ncclRecv(again + peer, 1, ncclFloat32, peer, comm, nullptr));
  }
  MUST(ncclAllReduce(x, x, count, ncclFloat32, ncclMax, comm, nullptr));
  MUST(ncclGroupEnd());
  MUST(cudaStreamSynchronize(nullptr));
  const auto found = to_host(in, is.ranks), second = to_host(again, is.ranks);
  for (int from = 0; from < is.ranks; ++from) {
    EXPECT(found[from] == static_cast<float>(100 * from + is.rank));
    EXPECT(second[from] == 1);
  }
  EXPECT(to_host(y, count)[1] == static_cast<float>(is.ranks));
  EXPECT(to_host(x, count)[1] == 1);
  MUST(ncclCommDestroy(comm));
  for (float* each : {out, in, again, ones, x, y}) MUST(cudaFree(each));
}

}  // namespace

int main(int words, char** word) {
  if (words < 3) return 2;
  const std::string name = word[1];
  const int ranks = std::atoi(word[2]);
  if (name == "types") return as_ranks(ranks, types);
  if (name == "factors") return as_ranks(ranks, factors);
  if (name == "streams") return as_ranks(ranks, streams);
  if (name == "two_communicators") return as_ranks(ranks, two_communicators);
  if (name == "many_streams") return as_ranks(ranks, many_streams);
  if (name == "group_of_all") return as_ranks(ranks, group_of_all);
  if (name == "host_elsewhere") {
    int pipes[2];
    EXPECT(pipe(pipes) == 0);
    return as_ranks(ranks, [&](const Rank& is) { host_elsewhere(is, pipes); });
  }
  std::printf("no such case\n");
  return 2;
}
