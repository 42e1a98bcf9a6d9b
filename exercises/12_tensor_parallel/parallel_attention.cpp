// Task: spread attention over a tensor-parallel group by heads. Which rows of the fused projection
// a rank holds is the first function; the second computes with them, and leaves by one sum. The
// contract is in engine/parallel/tensor/parallel_attention.hpp.
#include "engine/parallel/tensor/parallel_attention.hpp"

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "engine/parallel/tensor/shares.hpp"

namespace lockstep::tensor_parallel {

std::array<RowRange, 3> qkv_rows(std::int64_t width, std::int64_t heads, int ranks, int rank) {
  LOCKSTEP_CHECK(heads >= 1 && width % heads == 0, "qkv_rows: ", heads,
                 " heads do not divide the width ", width);
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks, "qkv_rows: rank ", rank, " of ", ranks,
                 "; ranks count from 0");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)width, (void)heads, (void)ranks, (void)rank;
  throw NotImplemented("parallel_attention");
  // <<< your code
}

Value parallel_attention(Tape& tape, comm::ProcessGroup& group, const Value& x,
                         const AttentionShare& share, std::int64_t heads) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)tape, (void)group, (void)x, (void)share, (void)heads;
  throw NotImplemented("parallel_attention");
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
