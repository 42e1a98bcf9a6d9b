// Buckets of its own: gradients are copied in when they are ready, and the results copied back in
// finalize. The parameters' grads stay where backward made them.
#include "engine/base/error.hpp"
#include "engine/parallel/ddp/reducer.hpp"

namespace lockstep::ddp {
namespace {

class CopyingReducer final : public Reducer {
 public:
  CopyingReducer(comm::ProcessGroup& group, std::vector<Parameter*> parameters,
                 const collectives::BucketPlan& plan, const Reduction& reduction)
      : group_(group),
        parameters_(std::move(parameters)),
        plan_(plan),
        reduction_(reduction),
        bucket_of_(parameters_.size()),
        views_(parameters_.size()),
        came_(parameters_.size(), 0) {
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
      std::int64_t count = 0;
      for (const std::size_t i : plan_.buckets[b]) count += parameters_[i]->value.numel();
      const Tensor& like = parameters_[plan_.buckets[b].front()]->value;
      collectives::GradientBucket content;
      content.index = b;
      content.last = b + 1 == plan_.buckets.size();
      content.flat = empty({count}, like.dtype(), like.device());
      std::int64_t start = 0;
      for (const std::size_t i : plan_.buckets[b]) {
        const Tensor& value = parameters_[i]->value;
        views_[i] = content.flat.narrow(start, value.numel()).view(value.shape());
        content.gradients.push_back(views_[i]);
        bucket_of_[i] = b;
        start += value.numel();
      }
      contents_.push_back(std::move(content));
    }
    begin_pass();
  }

  void on_gradient_ready(std::size_t index) override {
    const Tensor& grad = parameters_[index]->grad;
    if (grad.defined()) {
      views_[index].copy_(grad);
      views_[index].scale_(reduction_.share);
    } else {
      views_[index].fill_(0);
    }
    came_[index] = 1;
    ++full_[bucket_of_[index]];
    while (works_.size() < contents_.size() &&
           full_[works_.size()] == plan_.buckets[works_.size()].size()) {
      works_.push_back(reduction_.hook->start(group_, contents_[works_.size()]));
    }
  }

  void finalize() override {
    for (std::size_t i = 0; i < came_.size(); ++i) {
      if (came_[i] == 0) {
        throw ContractError("finalize: no gradient came for " + parameters_[i]->name);
      }
    }
    for (std::size_t b = 0; b < works_.size(); ++b) {
      works_[b].wait();
      for (const std::size_t i : plan_.buckets[b]) {
        Tensor& grad = parameters_[i]->grad;
        if (!grad.defined()) grad = views_[i].clone(MemoryKind::gradients);
        grad.copy_(views_[i]);
      }
    }
    begin_pass();
  }

 private:
  void begin_pass() {
    full_.assign(contents_.size(), 0);
    came_.assign(came_.size(), 0);
    works_.clear();
  }

  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  collectives::BucketPlan plan_;
  Reduction reduction_;
  std::vector<std::size_t> bucket_of_;
  std::vector<Tensor> views_;
  std::vector<char> came_;
  std::vector<collectives::GradientBucket> contents_;
  std::vector<std::size_t> full_;  // gradients that came, by bucket
  std::vector<comm::Work> works_;  // of the buckets that started
};

}  // namespace

std::unique_ptr<Reducer> make_bucketed_reducer(comm::ProcessGroup& group,
                                               std::vector<Parameter*> parameters,
                                               const collectives::BucketPlan& plan,
                                               const Reduction& reduction) {
  return std::make_unique<CopyingReducer>(group, std::move(parameters), plan, reduction);
}

}  // namespace lockstep::ddp
