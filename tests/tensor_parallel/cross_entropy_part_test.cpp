// The loss of a spread vocabulary beside the loss of whole rows, and the embedding of the same
// shares.
#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/parallel/tensor/shares.hpp"
#include "engine/parallel/tensor/vocab_parallel_cross_entropy.hpp"
#include "engine/parallel/tensor/vocab_parallel_embedding.hpp"
#include "tests/tensor_parallel/ranks.hpp"

using namespace lockstep;
using namespace lockstep::test;
using namespace lockstep::tensor_parallel;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// A rank's columns of logits [rows, V], its padding filled with what nothing may read.
Tensor share_of(const Tensor& logits, const VocabularyShare& share, double padding) {
  const Tensor held = full({logits.size(0), share.held}, padding, logits.dtype(), logits.device());
  for (std::int64_t r = 0; r < logits.size(0); ++r) {
    if (share.real == 0) break;
    held.narrow(r, 1)
        .view({share.held})
        .narrow(0, share.real)
        .copy_(logits.narrow(r, 1).view({logits.size(1)}).narrow(share.first, share.real));
  }
  return held;
}

Tensor labels_below(std::int64_t vocabulary, std::int64_t rows, Device& device) {
  std::vector<double> labels;
  for (std::int64_t r = 0; r < rows; ++r) labels.push_back(static_cast<double>(5 * r % vocabulary));
  return from_values(labels, {rows}, DType::int64, device);
}

struct WholeLoss {
  Tensor loss, grad;
};
WholeLoss on_one_device(const Tensor& logits, const Tensor& labels,
                        const ops::CrossEntropyOptions& options) {
  Tape tape(GradMode::record);
  const Value in = tape.input(logits);
  const Value loss = autograd::cross_entropy(tape, in, labels, options);
  tape.backward(autograd::scale(tape, loss, 3));
  return {loss.tensor, tape.gradient_of(in)};
}

// What each rank finds, beside whole rows; padding must be without effect and gradient.
void check_beside_whole(int ranks, const Tensor& logits, const Tensor& labels, double tolerance,
                        const ops::CrossEntropyOptions& options = {}) {
  const std::int64_t rows = logits.size(0), vocabulary = logits.size(1);
  const WholeLoss expected = on_one_device(logits, labels, options);
  on_recorded_ranks(ranks, [&](RecordedGroup& group, Device&) {
    const VocabularyShare share = vocabulary_share(vocabulary, ranks, group.rank());
    Tape tape(GradMode::record);
    const Value in = tape.input(share_of(logits, share, not_a_number));
    const Value loss = vocab_parallel_cross_entropy(tape, group, in, labels, vocabulary, options);
    CHECK(difference(loss.tensor, expected.loss) <= tolerance * (1 + expected.loss.item()));
    const std::string type(name_of(loss.tensor.dtype()));
    CHECK(group.taken() == Calls{text("all_reduce (max) of ", rows, " ", type),
                                 text("all_reduce (sum) of ", 2 * rows, " ", type)});
    tape.backward(autograd::scale(tape, loss, 3));
    CHECK(group.taken() == Calls{});
    CHECK(difference(tape.gradient_of(in), share_of(expected.grad, share, 0)) <= tolerance);
  });
}

}  // namespace

TEST_CASE("vocab_parallel_cross_entropy: the loss and the gradient of whole rows") {
  CpuDevice device;
  for (const int ranks : group_sizes) {
    for (const std::int64_t vocabulary : {1, 2, 7, 16, 41}) {
      for (const std::int64_t rows : {1, 6}) {
        CAPTURE(ranks, vocabulary, rows);
        check_beside_whole(ranks, drawn({rows, vocabulary}, 1, device),
                           labels_below(vocabulary, rows, device), near);
      }
    }
  }
}

TEST_CASE("vocab_parallel_cross_entropy: one rank has the bits of whole rows") {
  CpuDevice device;
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor logits = ops::scale(drawn({6, 41}, 1, device, dtype), 4);
    check_beside_whole(1, logits, labels_below(41, 6, device), 0);
  }
}

TEST_CASE("vocab_parallel_cross_entropy: logits of 10,000 and -10,000 give finite numbers") {
  CpuDevice device;
  for (const int ranks : group_sizes) {
    for (const double shift : {1e4, -1e4}) {
      for (const double spread : {1.0, 1e4}) {
        CAPTURE(ranks, shift, spread);
        const Tensor logits = ops::add(ops::scale(drawn({6, 13}, 1, device), spread),
                                       full({1}, shift, DType::float64, device));
        check_beside_whole(ranks, logits, labels_below(13, 6, device), 1e-11);
      }
    }
  }
}

// Megatron's tests/unit_tests/tensor_parallel/test_cross_entropy.py states these losses.
TEST_CASE("vocab_parallel_cross_entropy: four ranks with logits 0 to 7 in turn have known losses") {
  on_recorded_ranks(4, [](RecordedGroup& group, Device& device) {
    std::vector<double> in_turn(32);
    for (std::size_t c = 0; c < in_turn.size(); ++c) in_turn[c] = static_cast<double>(c % 8);
    const Tensor logits = from_values(in_turn, {1, 32}, DType::float32, device);
    const double known[] = {10.2309, 8.2309, 6.2309, 4.2309};
    for (std::size_t row = 0; row < 16; ++row) {
      Tape tape(GradMode::inference);
      const Tensor label = full({1}, static_cast<double>(2 * row), DType::int64, device);
      const Value loss =
          vocab_parallel_cross_entropy(tape, group, tape.constant(logits), label, 128);
      CAPTURE(row);
      CHECK(std::abs(loss.tensor.item() - known[row % 4]) < 5e-5);
    }
  });
}

TEST_CASE("vocab_parallel_cross_entropy: ignored labels add nothing, sums and means") {
  CpuDevice device;
  const Tensor logits = drawn({6, 11}, 1, device);
  const Tensor all = labels_below(11, 6, device), labels = all.clone();
  labels.narrow(2, 1).fill_(-100);
  for (const int ranks : group_sizes) {
    for (const ops::Reduction reduction : {ops::Reduction::mean, ops::Reduction::sum}) {
      check_beside_whole(ranks, logits, labels, near, {reduction});
      check_beside_whole(ranks, logits, all, near, {reduction, 5});  // a token that is ignored
    }
  }
}

TEST_CASE("vocab_parallel_cross_entropy: what is wrong is named before anything is sent") {
  on_recorded_ranks(2, [](RecordedGroup& group, Device& device) {
    Tape tape(GradMode::record);
    const Value logits = tape.constant(drawn({3, 4}, 1, device));
    const auto loss = [&](const std::vector<double>& labels, std::int64_t vocabulary) {
      const Tensor wanted = from_values(labels, {std::ssize(labels)}, DType::int64, device);
      return vocab_parallel_cross_entropy(tape, group, logits, wanted, vocabulary);
    };
    CHECK_THROWS_WITH(loss({0, 7, 1}, 7), contains("label 7 of row 1 is outside [0, 7)"));
    CHECK_THROWS_WITH(loss({0, -1, 1}, 7), contains("label -1 of row 1 is outside [0, 7)"));
    CHECK_THROWS_WITH(loss({-100, -100, -100}, 7), contains("use Reduction::sum"));
    CHECK_THROWS_WITH(loss({0, 1, 2}, 9), contains("expected 5 columns: 9 tokens on 2 ranks"));
    CHECK_THROWS_WITH(loss({0, 1}, 7), contains("2 labels for rows [3]"));
    CHECK(group.taken() == Calls{});
  });
}

TEST_CASE("vocab_parallel_cross_entropy: halves have statistics and a loss of float32") {
  CpuDevice device;
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Tensor logits = drawn({6, 13}, 1, device, dtype);
    check_beside_whole(2, logits, labels_below(13, 6, device), 0x1p-8);
  }
}

TEST_CASE("vocab_parallel_embedding: the terms of all ranks are the rows of the whole table") {
  for (const int ranks : group_sizes) {
    for (const std::int64_t vocabulary : {1, 7, 16}) {
      CAPTURE(ranks, vocabulary);
      on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
        const VocabularyShare share = vocabulary_share(vocabulary, ranks, group.rank());
        const Tensor table = drawn({vocabulary, 3}, 1, device), grad = drawn({6, 3}, 2, device);
        const Tensor tokens = labels_below(vocabulary, 6, device);
        Parameter whole = parameter(table);
        Tape one(GradMode::record);
        const Value expected = autograd::embedding(one, one.leaf(whole), tokens);
        one.backward(expected, grad);

        const Tensor held = full({share.held, 3}, not_a_number, DType::float64, device);
        const Tensor grads = zeros({share.held, 3}, DType::float64, device);
        if (share.real > 0) {
          held.narrow(0, share.real).copy_(table.narrow(share.first, share.real));
          grads.narrow(0, share.real).copy_(whole.grad.narrow(share.first, share.real));
        }
        Parameter own = parameter(held);
        Tape tape(GradMode::record);
        const Value term =
            vocab_parallel_embedding(tape, tape.leaf(own), tokens, vocabulary, share);
        const Value y = leave_parallel(tape, group, term);
        CHECK(difference(y.tensor, expected.tensor) == 0);
        tape.backward(y, grad);
        CHECK(difference(own.grad, grads) == 0);
        CHECK_THROWS_WITH(vocab_parallel_embedding(
                              tape, tape.constant(held),
                              full({1}, static_cast<double>(vocabulary), DType::int64, device),
                              vocabulary, share),
                          contains("is the vocabulary the model's?"));
      });
    }
  }
}
