#include "engine/train/evaluate.hpp"

#include <array>
#include <mutex>
#include <numeric>
#include <vector>

#include "engine/nn/mlp.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"
#include "tests/train/thread_group.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::on_ranks;

namespace {

// Counts how often each sample is asked for, by all ranks together.
class Counting final : public data::Dataset {
 public:
  explicit Counting(std::int64_t size)
      : inner_(data::make_synthetic(size, 6, 3, 1)), reads(static_cast<std::size_t>(size)) {}
  std::int64_t size() const override { return inner_->size(); }
  std::int64_t inputs() const override { return inner_->inputs(); }
  std::int64_t classes() const override { return inner_->classes(); }
  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    const std::scoped_lock lock(guards_reads_);
    for (const std::int64_t index : indices) ++reads[static_cast<std::size_t>(index)];
    return inner_->batch(indices, dtype, device);
  }

 private:
  std::unique_ptr<data::Dataset> inner_;
  mutable std::mutex guards_reads_;

 public:
  mutable std::vector<int> reads;
};

}  // namespace

TEST_CASE("evaluation: each sample counts once, on any number of ranks, also more than samples") {
  for (const std::int64_t size : {1, 7, 13, 600}) {
    CpuDevice reference_device;
    const Counting whole(size);
    std::vector<std::int64_t> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    const auto batch = whole.batch(all, DType::float64, reference_device);
    const std::array<std::int64_t, 3> widths{6, 8, 3};
    Tape tape(GradMode::inference);
    const auto reference = nn::make_mlp(widths, DType::float64, reference_device, 1);
    const Tensor logits = reference->forward(tape, tape.constant(batch.inputs)).tensor;
    const double loss = ops::cross_entropy(logits, batch.labels).loss.item();
    const auto correct = static_cast<double>(ops::count_correct(logits, batch.labels));

    for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
      CAPTURE(size, ranks);
      const Counting counting(size);
      std::vector<train::Evaluation> results(static_cast<std::size_t>(ranks));
      on_ranks(ranks, [&](comm::ProcessGroup& group) {
        CpuDevice device;
        const auto model = nn::make_mlp(widths, DType::float64, device, 1);
        results[static_cast<std::size_t>(group.rank())] = train::evaluate(group, *model, counting);
      });
      CHECK(counting.reads == std::vector<int>(static_cast<std::size_t>(size), 1));
      for (const auto& result : results) {
        CHECK(result.loss == Approx(loss).epsilon(1e-12));
        CHECK(result.accuracy == correct / static_cast<double>(size));
      }
    }
  }
}

TEST_CASE("evaluation: no sample, no mean") {
  on_ranks(1, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto model = nn::make_mlp(std::array<std::int64_t, 2>{6, 3}, DType::float32, device, 1);
    CHECK_THROWS_AS(train::evaluate(group, *model, Counting(0)), ContractError);
  });
}
