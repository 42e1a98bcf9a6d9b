#include "engine/parallel/compress/power_sgd.hpp"

#include <deque>

#include "engine/parallel/compress/mean.hpp"

namespace lockstep::compress {
namespace {

class PowerSgd final : public collectives::CommHook {
 public:
  explicit PowerSgd(const PowerSgdOptions& options)
      : options_(options), residuals_(options.feedback) {}

  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    const std::int64_t pass = residuals_.passes();
    const Tensor residual = residuals_.next(bucket);
    if (!residual.defined()) return mean_reduce(group, bucket.flat);
    if (bucket.index >= states_.size()) states_.resize(bucket.index + 1);
    LowRankState& state = states_[bucket.index];
    state.residual = residual;
    return power_sgd_reduce(group, bucket, state, options_, pass);
  }

 private:
  PowerSgdOptions options_;
  Residuals residuals_;
  std::deque<LowRankState> states_;  // by bucket; a deque, for a Work keeps a reference
};

}  // namespace

std::unique_ptr<collectives::CommHook> make_power_sgd(const PowerSgdOptions& options) {
  LOCKSTEP_CHECK(options.rank >= 1, "make_power_sgd: matrices of rank ", options.rank,
                 "; pass at least 1");
  return std::make_unique<PowerSgd>(options);
}

}  // namespace lockstep::compress
