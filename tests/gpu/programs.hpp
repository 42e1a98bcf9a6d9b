// Programs of operations for check_beside: their results are compared, in the order in which they
// stand, by the tests of operations, and by those that ask whether the tests would notice a change.
#pragma once

#include "tests/gpu/beside_cpu.hpp"

namespace lockstep::test {

// Elements of a packet of 16 bytes.
inline std::int64_t packet_of(DType dtype) {
  return static_cast<std::int64_t>(16 / bytes_of(dtype));
}

// Numbers of `from` over the range that both types have.
Tensor common_to(DType from, DType to, std::int64_t count, Device& device);

// Whose results have the CPU's bits.
Results movements(DType dtype, Device& device);
Results element_by_element(DType dtype, Device& device, std::int64_t columns = 5);
Results broadcasts(DType dtype, Device& device);  // of one axis, two, up to four, up to eight
Results conversions(DType dtype, std::int64_t count, Device& device);
// In packets of 16 bytes, and between them: four turns of a block's 256 threads, and somewhat more;
// between them, two turns, too.
Results reductions(DType dtype, Device& device);
Results updates(std::int64_t count, DType dtype, Device& device);
Results global_norms(DType dtype, Device& device);
Results rows_by_number(std::int64_t columns, DType dtype, Device& device);

// Whose sums the CPU takes in an order of its own.
struct Attended {
  std::int64_t batch, tokens, heads, head_size;
};
// begin: where x begins in its storage
Results activations(std::int64_t count, DType dtype, Device& device, std::int64_t begin = 0);
Results sums(DType dtype, Device& device);
Results losses(std::int64_t rows, std::int64_t classes, DType dtype, Device& device);
// Rows in two splits, of which the second has columns of padding. Statistics first, then losses and
// gradients.
Results split_losses(std::int64_t rows, std::int64_t classes, DType dtype, Device& device,
                     std::int64_t padding = 3);
Results norms(std::int64_t rows, std::int64_t columns, DType dtype, Device& device);
Results norms_again(std::int64_t rows, std::int64_t columns, DType dtype, Device& device);
Results products(DType dtype, Device& device);
Results attention(const Attended& of, DType dtype, Device& device);
// Two sequences of queries, and keys and values of other tokens.
struct AttendedBlock {
  std::int64_t heads, head_size;
  Positions queries, keys;
};
Results attention_to_block(const AttendedBlock& of, DType dtype, Device& device);
// Queries of which a tile sees nothing, a row of a tile, or none at all; and keys that nobody sees.
std::vector<AttendedBlock> blocks_at_edges(std::int64_t heads, std::int64_t head_size);

}  // namespace lockstep::test
