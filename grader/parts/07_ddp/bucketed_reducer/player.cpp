// Plays bucketed_reducer: backward passes whose gradients the judge makes, and a hook that sums and
// notes what it was given.
#include "grader/parts/07_ddp/bucketed_reducer/case.hpp"

#include <algorithm>

#include "engine/parallel/ddp/reducer.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

StartedBucket noted(const collectives::GradientBucket& bucket) {
  StartedBucket noted{.index = bucket.index, .last = bucket.last, .gradients = {}};
  noted.count = bucket.flat.defined() ? bucket.flat.numel() : -1;
  if (noted.count > 0) {
    const auto bytes = bucket.flat.raw_bytes();
    noted.elements.assign(bytes.begin(), bytes.end());
  }
  std::int64_t start = 0;
  for (const Tensor& gradient : bucket.gradients) {
    auto& shape = noted.gradients.emplace_back();
    if (!gradient.defined()) continue;
    shape.assign(gradient.shape().begin(), gradient.shape().end());
    const bool fits = start + gradient.numel() <= noted.count;
    noted.in_place =
        noted.in_place && fits &&
        bucket.flat.narrow(start, gradient.numel()).view(gradient.shape()).same_place(gradient);
    start += gradient.numel();
  }
  return noted;
}

// The sum, times a factor that is applied when it is there: a hook may finish in wait().
class NotingHook final : public collectives::CommHook {
 public:
  NotingHook(double afterwards, std::vector<StartedBucket>& started)
      : afterwards_(afterwards), started_(started) {}

  // From now on nothing is started, and each bucket that is waited for is noted.
  void note_waits(std::vector<std::uint64_t>& waited) { waited_ = &waited; }

  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    if (waited_ != nullptr) return comm::Work(std::make_unique<Noted>(bucket.index, *waited_));
    started_.push_back(noted(bucket));
    comm::Work sum = group.all_reduce_async(bucket.flat, ReduceOp::sum);
    if (afterwards_ == 1) return sum;
    return comm::Work(std::make_unique<Finished>(std::move(sum), bucket, afterwards_));
  }

 private:
  class Finished final : public comm::Pending {
   public:
    Finished(comm::Work sum, const collectives::GradientBucket& bucket, double factor)
        : sum_(std::move(sum)), bucket_(bucket), factor_(factor) {}
    void wait() override {
      sum_.wait();
      bucket_.flat.scale_(factor_);
    }

   private:
    comm::Work sum_;
    const collectives::GradientBucket& bucket_;  // outlives the Work
    double factor_;
  };

  class Noted final : public comm::Pending {
   public:
    Noted(std::uint64_t bucket, std::vector<std::uint64_t>& waited)
        : bucket_(bucket), waited_(waited) {}
    void wait() override { waited_.push_back(bucket_); }

   private:
    std::uint64_t bucket_;
    std::vector<std::uint64_t>& waited_;
  };

  double afterwards_;
  std::vector<StartedBucket>& started_;
  std::vector<std::uint64_t>* waited_ = nullptr;
};

// The second reducer of a rank and its parameters.
class Twin {
 public:
  Twin(comm::ProcessGroup& group, const ReducerCase& c, Device& device)
      : held_(c.parameters, device), hook_(c.afterwards, started_), parameters_(held_.list()) {
    reducer_ = ddp::make_bucketed_reducer(group, parameters_, c.plans.front(), {c.share, &hook_});
  }

  // The first reducer's parameter is about to be reduced.
  void on_gradient_ready(std::size_t index, const Parameter& first) {
    Parameter& mine = *parameters_[index];
    mine.grad = {};
    if (first.grad.defined()) {
      mine.grad = first.grad.clone();
      mine.grad.scale_(2);
      if (mine.grad_place.defined()) {
        mine.grad_place.copy_(mine.grad);
        mine.grad = mine.grad_place;
      }
    }
    reducer_->on_gradient_ready(index);
  }
  GradientReports finalize() {
    reducer_->finalize();
    return held_.report();
  }

 private:
  HeldParameters held_;
  std::vector<StartedBucket> started_;
  NotingHook hook_;
  std::vector<Parameter*> parameters_;
  std::unique_ptr<ddp::Reducer> reducer_;
};

class DrivenReducer {
 public:
  DrivenReducer(comm::ProcessGroup& group, const ReducerCase& c, std::vector<Parameter*> parameters,
                NotingHook& hook, std::vector<std::uint64_t>& waited)
      : group_(group), case_(c), parameters_(std::move(parameters)), hook_(hook), waited_(waited) {
    if (c.twin) twin_ = std::make_unique<Twin>(group, c, parameters_.front()->value.device());
    remake();
  }

  void on_gradient_ready(std::size_t index) {
    if (twin_) twin_->on_gradient_ready(index, *parameters_[index]);
    reducer_->on_gradient_ready(index);
  }
  void finalize() {
    if (twin_) of_twin.push_back(twin_->finalize());
    waited_.clear();  // an earlier wait is a matter of time, which other cases measure
    reducer_->finalize();
    if (++passes_ == case_.passes) hook_.note_waits(waited_);
  }
  void remake() {
    reducer_.reset();
    const collectives::BucketPlan& plan = case_.plans.at(made_++);
    reducer_ = ddp::make_bucketed_reducer(group_, parameters_, plan, {case_.share, &hook_});
  }
  void end() { reducer_.reset(); }

  std::vector<GradientReports> of_twin;

 private:
  comm::ProcessGroup& group_;
  const ReducerCase& case_;
  std::vector<Parameter*> parameters_;
  NotingHook& hook_;
  std::vector<std::uint64_t>& waited_;
  std::unique_ptr<ddp::Reducer> reducer_;
  std::size_t made_ = 0;
  std::uint64_t passes_ = 0;
  std::unique_ptr<Twin> twin_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<ReducerCase>(
      played, [](comm::ProcessGroup& group, const ReducerCase& c, Device& device, sim::Port& port) {
        const HeldParameters held(c.parameters, device);
        ReducerReport report;
        NotingHook hook(c.afterwards, report.started);
        DrivenReducer reducer(group, c, held.list(), hook, report.waited);
        report.driven = drive(port, held, reducer);
        report.twin = reducer.of_twin;
        reducer.end();
        const auto parameters = held.list();
        report.places_left = static_cast<std::uint64_t>(std::ranges::count_if(
            parameters, [](const Parameter* one) { return one->grad_place.defined(); }));
        return report;
      });
}

}  // namespace lockstep::grader
