#include "engine/parallel/tensor/vocab_parallel_embedding.hpp"

#include <vector>

#include "engine/tensor/split_rows.hpp"

namespace lockstep::tensor_parallel {

Value vocab_parallel_embedding(Tape& tape, const Value& table, const Tensor& tokens,
                               std::int64_t vocabulary, const VocabularyShare& share) {
  const ops::ColumnSplit rows{share.first, share.real, vocabulary};
  return tape.record(
      ops::split_embedding(table.tensor, tokens, rows), {table},
      [tokens, rows, held = table.tensor.size(0)](const Tensor& grad) {
        return std::vector<Tensor>{ops::split_embedding_backward(grad, tokens, rows, held)};
      });
}

}  // namespace lockstep::tensor_parallel
