// Plays power_sgd: buckets whose elements the judge drew, pass after pass, each with the state of
// its bucket. When a Work is over, the state is written where the judge reads it.
#include <deque>
#include <memory>
#include <utility>

#include "engine/parallel/compress/power_sgd.hpp"
#include "grader/parts/10_compression/power_sgd/case.hpp"

namespace lockstep::grader {
namespace {

class WritesState final : public comm::Pending {
 public:
  WritesState(comm::Work work, const compress::LowRankState& kept, Tensor shown,
              std::int64_t q_count)
      : work_(std::move(work)), kept_(kept), shown_(std::move(shown)), q_count_(q_count) {}
  void wait() override {
    work_.wait();
    const std::int64_t count = shown_.numel() - q_count_;
    if (!kept_.residual.same_place(shown_.narrow(0, count))) {
      shown_.narrow(0, count).copy_(kept_.residual);
    }
    const Tensor& qs = kept_.qs;
    const bool whole = qs.defined() && qs.numel() == q_count_;
    LOCKSTEP_CHECK(
        whole, wrong_size_left, "state.qs has ", qs.defined() ? qs.numel() : std::int64_t{0},
        " elements after the Work was waited for, where all Q of the bucket have ", q_count_,
        "; a matrix is n × m, where m counts all axes but the first, its Q has m·min(n, m, r) "
        "elements, and the next pass begins with them");
    shown_.narrow(count, q_count_).copy_(kept_.qs);
  }

 private:
  comm::Work work_;
  const compress::LowRankState& kept_;
  Tensor shown_;
  std::int64_t q_count_;
};

collectives::GradientBucket bucket_of(const Tensor& flat, const PowerSgdSettings& settings,
                                      std::size_t call) {
  const auto buckets = static_cast<std::size_t>(settings.buckets);
  collectives::GradientBucket bucket{.index = call % buckets,
                                     .last = call % buckets + 1 == buckets,
                                     .flat = flat,
                                     .gradients = {}};
  std::int64_t at = 0;
  for (const auto& sizes : settings.shapes) {
    const Shape shape = shape_of_sizes(sizes);
    const std::int64_t count = numel_of(shape);
    bucket.gradients.push_back(flat.narrow(at, count).view(shape));
    at += count;
  }
  return bucket;
}

// The states of a case's buckets, and the bucket of each call, which outlives its Work.
class Calls {
 public:
  comm::Work operator()(comm::ProcessGroup& group, const PowerSgdSettings& settings,
                        const Tensor& gradient, const Tensor& state, std::size_t call) {
    buckets_.push_back(bucket_of(gradient, settings, call));
    const collectives::GradientBucket& bucket = buckets_.back();
    if (kept_.size() <= bucket.index) kept_.push_back({state.narrow(0, gradient.numel()), {}});
    compress::LowRankState& mine = kept_[bucket.index];
    const auto pass = static_cast<std::int64_t>(call) / settings.buckets;
    comm::Work work = compress::power_sgd_reduce(
        group, bucket, mine,
        {.rank = settings.rank, .compression_min = settings.compression_min, .seed = settings.seed},
        pass);
    return comm::Work(
        std::make_unique<WritesState>(std::move(work), mine, state, settings.q_count));
  }

 private:
  std::deque<compress::LowRankState> kept_;
  std::deque<collectives::GradientBucket> buckets_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_lossy<PowerSgdSettings>(played, Calls()); }

}  // namespace lockstep::grader
