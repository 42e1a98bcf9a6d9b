#include "engine/parallel/ddp/communication.hpp"

#include <algorithm>

#include "engine/base/stopwatch.hpp"

namespace lockstep::ddp {
namespace {

using collectives::CommHook;
using collectives::GradientBucket;

class SumHook final : public CommHook {
 public:
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    return group.all_reduce_async(bucket.flat, ReduceOp::sum);
  }
};

class TimedPending final : public comm::Pending {
 public:
  TimedPending(comm::Work work, Communication& seen) : work_(std::move(work)), seen_(seen) {}
  void wait() override {
    const Stopwatch watch;
    work_.wait();
    const double waited = watch.seconds();
    const double ran = work_.ran_s().value_or(waited);
    seen_ += {ran, std::min(ran, waited)};
  }

 private:
  comm::Work work_;
  Communication& seen_;
};

class TimedHook final : public CommHook {
 public:
  TimedHook(CommHook& inner, Communication& seen) : inner_(inner), seen_(seen) {}
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    const Stopwatch watch;
    comm::Work work = inner_.start(group, bucket);
    if (!work.complete()) {
      return comm::Work(std::make_unique<TimedPending>(std::move(work), seen_));
    }
    // It ran here and now, so nothing of it was hidden.
    const double waited = watch.seconds();
    seen_ += {waited, waited};
    return {};
  }

 private:
  CommHook& inner_;
  Communication& seen_;
};

}  // namespace

std::optional<double> Communication::hidden() const {
  if (total_s <= 0) return std::nullopt;
  return 1 - exposed_s / total_s;
}

Communication& Communication::operator+=(const Communication& other) {
  total_s += other.total_s;
  exposed_s += other.exposed_s;
  return *this;
}

std::unique_ptr<CommHook> make_timed_hook(CommHook& inner, Communication& seen) {
  return std::make_unique<TimedHook>(inner, seen);
}

std::unique_ptr<CommHook> make_sum_hook() { return std::make_unique<SumHook>(); }

}  // namespace lockstep::ddp
