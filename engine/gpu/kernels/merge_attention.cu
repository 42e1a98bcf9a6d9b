// Attention to two blocks of keys as one: a block has a query's head, whose two weights all threads
// make from the log sums, and each thread some of its numbers.
#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

constexpr unsigned head_threads = 64;

template <typename Number, typename LogSum>
struct Results {
  Number* output;
  LogSum* log_sums;
};

template <typename T>
__global__ void merge_rows(Results<const T, const Wide<T>> block, std::int64_t rows,
                           std::int64_t heads, std::int64_t tokens, std::int64_t size,
                           Results<T, Wide<T>> into) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t head = row % heads, token = row / heads % tokens;
    const std::int64_t at = (row / heads / tokens * heads + head) * tokens + token;
    const Wide<T> added = block.log_sums[at], sum = into.log_sums[at];
    __syncthreads();  // every thread has read what the first one writes
    if (added == -INFINITY) continue;
    const Wide<T> most = sum < added ? added : sum;
    const Wide<T> before = exponential(sum - most), share = exponential(added - most);
    for (std::int64_t i = row * size + threadIdx.x; i < (row + 1) * size; i += blockDim.x) {
      const Wide<T> both = before * wide(into.output[i]) + share * wide(block.output[i]);
      into.output[i] = static_cast<T>(both / (before + share));
    }
    if (threadIdx.x == 0) into.log_sums[at] = most + log(before + share);
  }
}

}  // namespace

void merge_attention(const Call& call, const Tensor& block_output, const Tensor& block_log_sums,
                     const Tensor& output, const Tensor& log_sums) {
  const std::int64_t rows = log_sums.numel(), heads = log_sums.size(1);
  if (rows == 0) return;
  visit_float(output, [&]<typename T>() {
    merge_rows<T><<<blocks_for(rows, 1), head_threads, 0, call.stream>>>(
        {elements<const T>(block_output), elements<const Wide<T>>(block_log_sums)}, rows, heads,
        log_sums.size(2), output.numel() / rows,
        {elements<T>(output), elements<Wide<T>>(log_sums)});
  });
  check_launch("merge_attention");
}

}  // namespace lockstep::gpu::kernels
