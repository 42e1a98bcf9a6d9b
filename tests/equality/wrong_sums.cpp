#include "tests/equality/wrong_sums.hpp"

#include <utility>

#include "engine/comm/group_in_front.hpp"

namespace lockstep::test {
namespace {

// Every sum gets this rank's share times `factor`.
class ScalingGroup : public comm::GroupInFront {
 public:
  ScalingGroup(comm::ProcessGroup& inner, double factor) : GroupInFront(inner), factor_(factor) {}
  ScalingGroup(std::unique_ptr<comm::ProcessGroup> inner, double factor)
      : GroupInFront(std::move(inner)), factor_(factor) {}

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    scale(collective);
    return GroupInFront::start(collective, where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    scale(collective);
    GroupInFront::run(collective, where);
  }

 private:
  void scale(const comm::Collective& collective) const {
    if (collective.kind == comm::CollectiveKind::all_reduce) collective.output.scale_(factor_);
  }
  double factor_;
};

// The stages of a pipeline, of which the first and the last become a group.
class WrongStages final : public comm::GroupInFront {
 public:
  WrongStages(std::unique_ptr<comm::ProcessGroup> inner, WrongSum fault)
      : GroupInFront(std::move(inner)), fault_(fault) {}

 protected:
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const comm::Where& where) override {
    auto tied = inner().split(color, key, where);
    if (!tied) return tied;
    double factor = 1;
    if (fault_ == WrongSum::tied_missing) factor = tied->rank() == 0 ? 1 : 0;
    if (fault_ == WrongSum::tied_halved) factor = 0.5;
    return std::make_unique<ScalingGroup>(std::move(tied), factor);
  }

 private:
  WrongSum fault_;
};

class WrongWorld final : public ScalingGroup {
 public:
  WrongWorld(comm::ProcessGroup& world, WrongSum fault, int micro_batches)
      : ScalingGroup(world, 1), fault_(fault), micro_batches_(micro_batches) {}

 protected:
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const comm::Where& where) override {
    auto part = inner().split(color, key, where);
    if (!part) return part;
    if (++splits_ == 2) return std::make_unique<WrongStages>(std::move(part), fault_);
    double factor = 1;
    if (fault_ == WrongSum::summed) factor = part->size();
    if (fault_ == WrongSum::divided_twice) factor = 1.0 / micro_batches_;
    return std::make_unique<ScalingGroup>(std::move(part), factor);
  }

 private:
  WrongSum fault_;
  int micro_batches_;
  int splits_ = 0;
};

}  // namespace

std::unique_ptr<comm::ProcessGroup> make_wrong_sums(comm::ProcessGroup& world, WrongSum fault,
                                                    int micro_batches) {
  return std::make_unique<WrongWorld>(world, fault, micro_batches);
}

}  // namespace lockstep::test
