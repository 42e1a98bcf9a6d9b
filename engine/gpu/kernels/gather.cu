// Rows by number, and what chance drops. Of an index outside the table, which is another table's or
// which check_indices told of, nothing is read or written.
#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/random.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

template <typename T>
__global__ void gather_rows(const T* table, std::int64_t rows, std::int64_t columns,
                            const std::int64_t* indices, std::int64_t first, std::int64_t count,
                            T* out) {
  for (std::int64_t i = first_place(); i < count * columns; i += place_step()) {
    const std::int64_t place = i / columns, index = indices[place] - first;
    const bool inside = index >= 0 && index < rows;
    out[i] = inside ? table[index * columns + (i - place * columns)] : T(0.0F);
  }
}

// The links between the positions of one index: `next` is the one after it, or `count`, and `first`
// is 1 where there is none before it.
struct Links {
  std::int64_t* next;
  int* first;
};

__global__ void link_positions(const std::int64_t* indices, std::int64_t count, Links links) {
  for (std::int64_t p = first_place(); p < count; p += place_step()) {
    const std::int64_t index = indices[p];
    std::int64_t next = p + 1, before = p - 1;
    while (next < count && indices[next] != index) ++next;
    while (before >= 0 && indices[before] != index) --before;
    links.next[p] = next;
    links.first[p] = before < 0 ? 1 : 0;
  }
}

// The first position of an index writes the table's row, for all of them and in their order: no
// atomic additions, whose order would be another one in each run. A block a position.
template <typename T>
__global__ void add_linked_rows(const T* grad, const std::int64_t* indices, std::int64_t count,
                                Links links, std::int64_t first, std::int64_t rows,
                                std::int64_t columns, T* table) {
  for (std::int64_t p = blockIdx.x; p < count; p += gridDim.x) {
    const std::int64_t index = indices[p] - first;
    if (links.first[p] == 0 || index < 0 || index >= rows) continue;
    for (std::int64_t j = threadIdx.x; j < columns; j += blockDim.x) {
      Wide<T> sum = 0;
      for (std::int64_t at = p; at < count; at = links.next[at]) {
        sum += wide(grad[at * columns + j]);
      }
      table[index * columns + j] = static_cast<T>(sum);
    }
  }
}

template <typename T>
__global__ void drop(const T* x, std::int64_t count, std::int64_t sample_size,
                     ops::DropoutMask mask, Wide<T> keep, T* y) {
  for (std::int64_t i = first_place(); i < count; i += place_step()) {
    const std::int64_t sample = i / sample_size, at = i - sample * sample_size;
    const auto number = static_cast<std::uint64_t>(mask.first_sample + sample * mask.sample_stride);
    const double chance = random_uniform(random_bits(mask.seed, number), mask.element(at));
    y[i] = static_cast<T>(chance >= mask.rate ? wide(x[i]) * keep : Wide<T>(0));
  }
}

}  // namespace

void embedding(const Call& call, const Tensor& table, const Tensor& indices, std::int64_t first,
               const Tensor& rows) {
  if (rows.numel() == 0) return;
  const auto [count, columns] = rows_of(table);
  visit_float(table, [&, count = count, columns = columns]<typename T>() {
    gather_rows<<<blocks_for(rows.numel(), block_threads), block_threads, 0, call.stream>>>(
        elements<const T>(table), count, columns, elements<const std::int64_t>(indices), first,
        indices.numel(), elements<T>(rows));
  });
  check_launch("embedding");
}

void embedding_backward(const Call& call, const Tensor& grad, const Tensor& indices,
                        std::int64_t first, const Tensor& table) {
  fill(call, 0, table);
  const std::int64_t positions = indices.numel();
  if (positions == 0 || table.numel() == 0) return;
  const auto [count, columns] = rows_of(table);
  const auto next = call.scratch.take_of<std::int64_t>(static_cast<std::size_t>(positions));
  const auto begins = call.scratch.take_of<int>(static_cast<std::size_t>(positions));
  const Links links{next.as<std::int64_t>(), begins.as<int>()};
  link_positions<<<blocks_for(positions, 32), 32, 0, call.stream>>>(
      elements<const std::int64_t>(indices), positions, links);
  check_launch("embedding_backward");
  visit_float(grad, [&, count = count, columns = columns]<typename T>() {
    add_linked_rows<<<blocks_for(positions, 1), 128, 0, call.stream>>>(
        elements<const T>(grad), elements<const std::int64_t>(indices), positions, links, first,
        count, columns, elements<T>(table));
  });
  check_launch("embedding_backward");
}

void dropout(const Call& call, const Tensor& x, const ops::DropoutMask& mask, const Tensor& y) {
  if (x.numel() == 0) return;
  visit_float(x, [&]<typename T>() {
    drop<<<blocks_for(x.numel(), block_threads), block_threads, 0, call.stream>>>(
        elements<const T>(x), x.numel(), x.numel() / x.size(0), mask,
        static_cast<Wide<T>>(1 / (1 - mask.rate)), elements<T>(y));
  });
  check_launch("dropout");
}

}  // namespace lockstep::gpu::kernels
