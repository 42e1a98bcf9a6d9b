// The kernels of a device: what it can do with the elements of its tensors. An operation (ops.hpp,
// tensor.hpp) checks its arguments, makes its result, calls one of these, and charges; a device
// brings the table.
//
//   cpu/          computes, in the calling thread
//   no_kernels    does nothing, where tensors have no elements (symbolic.hpp)
//   contributors  follows who contributed to what
//
// A kernel is given checked arguments: shapes fit, all tensors are on the kernels' device, and
// floating-point operands share a dtype, unless said otherwise below. It reads what comes as
// `const Tensor&`, writes every element of an Out, and changes those of an InOut. It may return
// before it is done: kernels of one device take effect in the order of their calls, and the host
// sees their results through to_host() only.
//
// Halves (bfloat16, float16) are converted, computed in float32 and rounded once at the end. What
// stands for a whole row or batch (a loss, a mean, a deviation, a log-sum) is float32 then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/tensor/activation.hpp"
#include "engine/tensor/attention.hpp"
#include "engine/tensor/gather.hpp"
#include "engine/tensor/matmul.hpp"
#include "engine/tensor/softmax.hpp"
#include "engine/tensor/split_rows.hpp"
#include "engine/tensor/update_rules.hpp"

namespace lockstep {

// Tensors that a kernel writes, or changes.
struct Out {
  Out(const Tensor& to) : tensor(to) {}
  const Tensor& tensor;
};
struct InOut {
  InOut(const Tensor& both) : tensor(both) {}
  const Tensor& tensor;
};

enum class Binary : std::uint8_t { add, subtract, multiply };

// Copies of `count` runs of `length` elements: run i goes from element from_start + i · from_step
// to element to_start + i · to_step.
struct Runs {
  std::int64_t count, length;
  std::int64_t from_start, from_step;
  std::int64_t to_start, to_step;
};

// A tensor seen as [outer, a, middle, b, inner], of which a and b are exchanged.
struct Exchange {
  std::int64_t outer, a, middle, b, inner;
};

// Indices [n] int64 of an operation lie in [0, limit), or are `ignored`. `outside` throws what is
// to be said of the first that does not, or, with place -1, of there being none but ignored ones.
struct IndexRule {
  const char* operation = "";
  std::int64_t limit = 0;
  std::optional<std::int64_t> ignored = {};
  enum class Some : std::uint8_t { may_be_none, needed } some = Some::may_be_none;
  void (*outside)(const char* operation, std::int64_t place, std::int64_t index,
                  std::int64_t limit) = nullptr;
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual std::string_view name() const = 0;  // who multiplies matrices

  // These take every dtype. copy makes equal bytes, and the two may overlap. convert converts as
  // convert.hpp does; what it refuses, it throws now or at the next settle().
  virtual void copy(const Tensor& from, Out to) const = 0;
  virtual void copy_runs(const Tensor& from, const Runs& runs, InOut to) const = 0;
  virtual void exchange(const Tensor& from, const Exchange& axes, Out to) const = 0;
  virtual void reduce(const Tensor& operand, ReduceOp op, InOut into) const = 0;
  virtual void fill(double value, Out to) const = 0;
  virtual void convert(const Tensor& from, Out to) const = 0;
  // sum [1] int64: the bits of checksum_of (bytes.hpp) over x's bytes.
  virtual void checksum(const Tensor& x, Out sum) const = 0;
  // Between the host's memory and the device's. The host's bytes may change after upload(); those
  // of download() are there after settle().
  virtual void upload(std::span<const std::byte> from, Out to) const = 0;
  virtual void download(const Tensor& from, std::span<std::byte> to) const = 0;
  // Throws what `rule` says, now or at the next settle(). Kernels that use such indices run all the
  // same and reach no memory outside: an index that `rule` refuses counts for nothing.
  virtual void check_indices(const Tensor& indices, const IndexRule& rule) const = 0;

  // Floating point from here on. x · factor; scale_by: by a number [1] float64 of the device's.
  virtual void scale(InOut x, double factor) const = 0;
  virtual void scale_by(InOut x, const Tensor& factor) const = 0;
  virtual void scaled(const Tensor& x, double factor, Out y) const = 0;
  virtual void activate(const Tensor& x, ops::Activation activation, Out y) const = 0;
  virtual void activate_backward(const Tensor& grad, const Tensor& x, ops::Activation activation,
                                 Out out) const = 0;
  virtual void combine(Binary operation, const Tensor& a, const Tensor& b, Out c) const = 0;
  virtual void sum_to(const Tensor& x, Out total) const = 0;
  // total [1] float64 += Σ x², in the order that ops::sum_of_squares states.
  virtual void add_squares(const Tensor& x, InOut total) const = 0;
  // From squares [1], makes the norm √squares, and the factor on gradients that makes it max_norm
  // at most; the factor is 1 if max_norm is not positive or the norm is not finite. Both are [1]
  // float64.
  virtual void clip_factor(const Tensor& squares, double max_norm, Out norm, Out factor) const = 0;

  virtual void matmul(const Tensor& a, ops::Transpose transpose_a, const Tensor& b,
                      ops::Transpose transpose_b, Out c) const = 0;
  virtual void add_row(const Tensor& row, InOut x) const = 0;
  virtual void sum_rows(const Tensor& x, Out sum) const = 0;

  virtual void softmax(const Tensor& x, Out y) const = 0;
  virtual void softmax_backward(const Tensor& grad, const Tensor& y, Out out) const = 0;
  virtual void cross_entropy(const Tensor& logits, const Tensor& labels,
                             const ops::CrossEntropyOptions& options, Out probabilities,
                             Out loss) const = 0;
  // grad [1] of the loss's dtype
  virtual void cross_entropy_backward(const Tensor& grad, const Tensor& probabilities,
                                      const Tensor& labels, const ops::CrossEntropyOptions& options,
                                      Out out) const = 0;
  // The five of split_rows.hpp; maximum, sum and picked are statistics of the rows.
  virtual void row_maximum(const Tensor& logits, const ops::ColumnSplit& columns,
                           Out maximum) const = 0;
  virtual void sum_of_exponentials(const Tensor& logits, const Tensor& maximum,
                                   const ops::ColumnSplit& columns, Out sum) const = 0;
  virtual void picked_logits(const Tensor& logits, const Tensor& labels,
                             const ops::ColumnSplit& columns,
                             const ops::CrossEntropyOptions& options, Out picked) const = 0;
  virtual void split_cross_entropy(const Tensor& maximum, const Tensor& sum, const Tensor& picked,
                                   const Tensor& labels, const ops::CrossEntropyOptions& options,
                                   Out loss) const = 0;
  virtual void split_cross_entropy_backward(const Tensor& grad, const Tensor& logits,
                                            const Tensor& maximum, const Tensor& sum,
                                            const Tensor& labels, const ops::ColumnSplit& columns,
                                            const ops::CrossEntropyOptions& options,
                                            Out out) const = 0;
  // count [1] int64
  virtual void count_correct(const Tensor& logits, const Tensor& labels, Out count) const = 0;

  // An undefined bias and mean: those of RMSNorm.
  virtual void normalize(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
                         Out y, Out mean, Out inverse_deviation) const = 0;
  virtual void normalize_again(const Tensor& x, const Tensor& weight, const Tensor& bias,
                               const Tensor& mean, const Tensor& inverse_deviation,
                               Out y) const = 0;
  virtual void norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight,
                             const Tensor& mean, const Tensor& inverse_deviation, Out dx,
                             Out dweight, Out dbias) const = 0;

  // The table's row 0 is the one of index `first`; others have the rows of further indices.
  virtual void embedding(const Tensor& table, const Tensor& indices, std::int64_t first,
                         Out rows) const = 0;
  virtual void embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t first,
                                  Out table) const = 0;
  virtual void dropout(const Tensor& x, const ops::DropoutMask& mask, Out y) const = 0;

  // An undefined keys_values says that queries are packed, [B, T, 3·C]: a token's keys and values
  // stand behind its queries, and their gradients likewise.
  virtual void attention(const Tensor& queries, const Tensor& keys_values,
                         const ops::AttentionOptions& options, Out output, Out log_sums) const = 0;
  virtual void attention_backward(const Tensor& grad, const Tensor& queries,
                                  const Tensor& keys_values, const Tensor& output,
                                  const Tensor& log_sums, const ops::AttentionOptions& options,
                                  Out of_queries, Out of_keys_values) const = 0;

  // The block's attention is merged into the other one, of the same queries and heads.
  virtual void merge_attention(const Tensor& block_output, const Tensor& block_log_sums,
                               InOut output, InOut log_sums) const = 0;

  // velocity: undefined where the rule has no momentum
  virtual void sgd(const Tensor& grad, const SgdRule& rule, InOut value, InOut velocity) const = 0;
  virtual void adam(const Tensor& grad, const AdamRule& rule, std::int64_t updates, InOut value,
                    InOut first, InOut second) const = 0;
  // x · factor; found [1] int64 becomes 1 where an element was infinite or NaN before.
  virtual void unscale(InOut x, double factor, InOut found) const = 0;
};

}  // namespace lockstep
