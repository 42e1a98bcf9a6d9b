#include "engine/parallel/tensor/cuts.hpp"

#include <algorithm>

#include "engine/parallel/tensor/shares.hpp"

namespace lockstep::tensor_parallel {
namespace {

// Rows [first, first + count), of a matrix or of a bias.
Box rows_of(const Shape& whole, std::int64_t first, std::int64_t count) {
  Box box{whole, whole};
  for (std::int64_t& begin : box.begin) begin = 0;
  box.begin.front() = first;
  box.end.front() = first + count;
  return box;
}

}  // namespace

Cut cut_of(std::string_view parameter) {
  const auto of = [&](std::string_view layer) {
    return parameter.find(layer) != std::string_view::npos;
  };
  if (of(".attn.c_attn.")) return Cut::qkv_rows;
  if (of(".c_fc.")) return Cut::rows;
  if (of(".c_proj.weight")) return Cut::columns;
  if (of("wte.weight") || of("lm_head.weight")) return Cut::vocabulary;
  return Cut::whole;
}

Boxes boxes_of(Cut cut, const Shape& whole, int ranks, int rank) {
  if (cut == Cut::whole) return whole_of(whole);
  if (cut == Cut::vocabulary) {
    const VocabularyShare mine = vocabulary_share(whole.front(), ranks, rank);
    return {rows_of(whole, std::min(mine.first, whole.front()), mine.real)};
  }
  if (cut == Cut::columns) {
    const std::int64_t each = equal_share("columns of a weight", whole.back(), ranks);
    return {{{0, rank * each}, {whole.front(), (rank + 1) * each}}};
  }
  const std::int64_t matrices = cut == Cut::qkv_rows ? 3 : 1;
  const std::int64_t rows = whole.front() / matrices;
  const std::int64_t each = equal_share("rows of a weight", rows, ranks);
  Boxes boxes;
  for (std::int64_t i = 0; i < matrices; ++i) {
    boxes.push_back(rows_of(whole, i * rows + rank * each, each));
  }
  return boxes;
}

Shape held_shape(Cut cut, const Shape& whole, int ranks) {
  Shape held = whole;
  if (cut == Cut::columns) held.back() /= ranks;
  if (cut == Cut::rows || cut == Cut::qkv_rows) held.front() /= ranks;
  if (cut == Cut::vocabulary) held.front() = (held.front() + ranks - 1) / ranks;
  return held;
}

}  // namespace lockstep::tensor_parallel
