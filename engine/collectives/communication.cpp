#include "engine/collectives/communication.hpp"

#include <algorithm>

#include "engine/comm/group_in_front.hpp"

namespace lockstep::collectives {
namespace {

class PlainHook final : public CommHook {
 public:
  explicit PlainHook(ReduceOp op) : op_(op) {}
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    return group.all_reduce_async(bucket.flat, op_);
  }

 private:
  ReduceOp op_;
};

class TimedPending final : public comm::Pending {
 public:
  TimedPending(comm::Work work, const comm::ProcessGroup& group, Communication& seen)
      : work_(std::move(work)), group_(group), seen_(seen) {}
  void wait() override {
    const double began = group_.now_s();
    work_.wait();
    const double waited = group_.now_s() - began;
    const double ran = work_.ran_s().value_or(waited);
    seen_ += {ran, std::min(ran, waited)};
  }

 private:
  comm::Work work_;
  const comm::ProcessGroup& group_;
  Communication& seen_;
};

// On an asynchronous device, the host knows when it issued a call, not when it ran.
bool has_clock(const Tensor& data) {
  return !data.defined() || data.device().numbers() != Numbers::away;
}

comm::Work timed(comm::Work work, const Tensor& data, const comm::ProcessGroup& group,
                 double began_s, Communication& seen) {
  if (!has_clock(data)) return work;
  if (!work.complete()) {
    return comm::Work(std::make_unique<TimedPending>(std::move(work), group, seen));
  }
  // It ran here and now, so nothing of it was hidden.
  const double waited = group.now_s() - began_s;
  seen += {waited, waited};
  return {};
}

class TimedGroup final : public comm::GroupInFront {
 public:
  TimedGroup(std::unique_ptr<comm::ProcessGroup> inner, Communication& seen)
      : GroupInFront(std::move(inner)), seen_(seen) {}
  TimedGroup(comm::ProcessGroup& inner, Communication& seen) : GroupInFront(inner), seen_(seen) {}

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    const double began_s = now_s();
    return timed(GroupInFront::start(collective, where), data_of(collective), inner(), began_s,
                 seen_);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    const double began_s = now_s();
    GroupInFront::run(collective, where);
    if (!has_clock(data_of(collective))) return;
    const double waited = now_s() - began_s;
    seen_ += {waited, waited};
  }
  comm::Work start_recv(Tensor data, int src, int tag, const comm::Where& where) override {
    const double began_s = now_s();
    return timed(inner().irecv(data, src, tag, where), data, inner(), began_s, seen_);
  }

 private:
  static const Tensor& data_of(const comm::Collective& collective) {
    return collective.input.defined() ? collective.input : collective.output;
  }

  Communication& seen_;
};

class TimedHook final : public CommHook {
 public:
  TimedHook(CommHook& inner, Communication& seen) : inner_(inner), seen_(seen) {}
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    const double began = group.now_s();
    return timed(inner_.start(group, bucket), bucket.flat, group, began, seen_);
  }

 private:
  CommHook& inner_;
  Communication& seen_;
};

// Converts the mean back when it is there.
class ConvertedPending final : public comm::Pending {
 public:
  ConvertedPending(comm::Work work, Tensor sent, Tensor flat)
      : work_(std::move(work)), sent_(std::move(sent)), flat_(std::move(flat)) {}
  void wait() override {
    work_.wait();
    flat_.convert_(sent_);
    sent_ = {};
  }
  std::optional<double> ran_s() const override { return work_.ran_s(); }

 private:
  comm::Work work_;
  Tensor sent_, flat_;
};

class ConvertingHook final : public CommHook {
 public:
  explicit ConvertingHook(DType wire) : wire_(wire) {}
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    const Tensor sent = bucket.flat.to(wire_, MemoryKind::buffers);
    comm::Work work = group.all_reduce_async(sent, ReduceOp::average);
    return comm::Work(std::make_unique<ConvertedPending>(std::move(work), sent, bucket.flat));
  }

 private:
  DType wire_;
};

}  // namespace

std::optional<double> Communication::hidden() const {
  if (total_s <= 0) return std::nullopt;
  // Whoever waits for late ranks waits longer than the collective runs.
  return std::max(0.0, 1 - exposed_s / total_s);
}

Communication& Communication::operator+=(const Communication& other) {
  total_s += other.total_s;
  exposed_s += other.exposed_s;
  return *this;
}

std::unique_ptr<CommHook> make_timed_hook(CommHook& inner, Communication& seen) {
  return std::make_unique<TimedHook>(inner, seen);
}

std::unique_ptr<comm::ProcessGroup> make_timed_group(std::unique_ptr<comm::ProcessGroup> inner,
                                                     Communication& seen) {
  return std::make_unique<TimedGroup>(std::move(inner), seen);
}

std::unique_ptr<comm::ProcessGroup> make_timed_group(comm::ProcessGroup& inner,
                                                     Communication& seen) {
  return std::make_unique<TimedGroup>(inner, seen);
}

std::unique_ptr<CommHook> make_sum_hook() { return std::make_unique<PlainHook>(ReduceOp::sum); }
std::unique_ptr<CommHook> make_average_hook() {
  return std::make_unique<PlainHook>(ReduceOp::average);
}
std::unique_ptr<CommHook> make_average_hook(DType wire) {
  return std::make_unique<ConvertingHook>(wire);
}

}  // namespace lockstep::collectives
