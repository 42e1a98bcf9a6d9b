#include "tests/equality/wrong_shards.hpp"

#include <limits>

#include "engine/comm/group_in_front.hpp"

namespace lockstep::test {
namespace {

class WrongGroup final : public comm::GroupInFront {
 public:
  WrongGroup(comm::ProcessGroup& inner, WrongShard fault) : GroupInFront(inner), fault_(fault) {}

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    spoil(collective);
    return GroupInFront::start(collective, where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    if (is_norm(collective) || is_overflow(collective)) return;
    spoil(collective);
    GroupInFront::run(collective, where);
  }

 private:
  // In a step with a clip, the first all-reduce of one number is the norm's, the second the loss's.
  bool is_norm(const comm::Collective& collective) {
    if (collective.kind != comm::CollectiveKind::all_reduce || collective.input.numel() != 1) {
      return false;
    }
    return ++numbers_ % 2 == 1 && fault_ == WrongShard::local_norm;
  }

  // The maximum of what each rank has found in its gradients.
  bool is_overflow(const comm::Collective& collective) const {
    return fault_ == WrongShard::local_skip && collective.op == ReduceOp::max;
  }

  void spoil(const comm::Collective& collective) {
    if (collective.kind != comm::CollectiveKind::reduce_scatter) return;
    const Tensor& all = collective.input;
    const std::int64_t count = all.numel();
    if (++reductions_ == 1 && rank() == 0) {
      const bool every = fault_ == WrongShard::overflow_of_all;
      const bool one =
          every || fault_ == WrongShard::overflow_of_one || fault_ == WrongShard::local_skip;
      for (int owner = every ? 0 : 1; one && owner < (every ? size() : 2); ++owner) {
        all.narrow(owner * count / size(), 1).fill_(std::numeric_limits<double>::infinity());
      }
    }
    if (fault_ == WrongShard::leaking_padding) all.narrow(count - 1, 1).fill_(1);
    if (fault_ == WrongShard::averaged_twice) all.scale_(1.0 / size());
    if (fault_ == WrongShard::shifted) {
      const Tensor copy = all.clone();
      all.narrow(0, count - 1).copy_(copy.narrow(1, count - 1));
    }
  }

  WrongShard fault_;
  int numbers_ = 0;
  int reductions_ = 0;
};

}  // namespace

std::unique_ptr<comm::ProcessGroup> make_wrong_shards(comm::ProcessGroup& inner, WrongShard fault) {
  return std::make_unique<WrongGroup>(inner, fault);
}

}  // namespace lockstep::test
