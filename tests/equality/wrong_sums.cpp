#include "tests/equality/wrong_sums.hpp"

#include <utility>

namespace lockstep::test {
namespace {

// In front of another group. Every sum gets this rank's share times `factor`.
class ScalingGroup : public comm::ProcessGroup {
 public:
  ScalingGroup(comm::ProcessGroup& inner, double factor)
      : ProcessGroup(inner.rank(), inner.size()), inner_(inner), factor_(factor) {}

  std::string_view backend() const override { return inner_.backend(); }
  comm::Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }
  void wait_until(double seconds) const override { inner_.wait_until(seconds); }
  comm::Clock clock() const override { return inner_.clock(); }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    scale(collective);
    return start_in(inner_, collective, where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    scale(collective);
    run_in(inner_, collective, where);
  }
  comm::Work start_send(const Tensor& data, int dst, int tag, const comm::Where& where) override {
    return inner_.isend(data, dst, tag, where);
  }
  comm::Work start_recv(Tensor data, int src, int tag, const comm::Where& where) override {
    return inner_.irecv(std::move(data), src, tag, where);
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const comm::Where& where) override {
    return inner_.split(color, key, where);
  }
  void give_up(const std::string& why) override { give_up_in(inner_, why); }

 private:
  void scale(const comm::Collective& collective) const {
    if (collective.kind == comm::CollectiveKind::all_reduce) collective.output.scale_(factor_);
  }
  comm::ProcessGroup& inner_;
  double factor_;
};

class OwningScalingGroup final : public ScalingGroup {
 public:
  OwningScalingGroup(std::unique_ptr<comm::ProcessGroup> inner, double factor)
      : ScalingGroup(*inner, factor), owned_(std::move(inner)) {}

 private:
  std::unique_ptr<comm::ProcessGroup> owned_;
};

class WrongWorld final : public ScalingGroup {
 public:
  WrongWorld(comm::ProcessGroup& world, WrongSum fault, int micro_batches)
      : ScalingGroup(world, 1), world_(world), fault_(fault), micro_batches_(micro_batches) {}

 protected:
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const comm::Where& where) override {
    ++splits_;
    auto part = world_.split(color, key, where);
    if (!part) return part;
    double factor = 1;
    if (splits_ == 2 && fault_ == WrongSum::summed) factor = part->size();
    if (splits_ == 2 && fault_ == WrongSum::divided_twice) factor = 1.0 / micro_batches_;
    if (splits_ == 3 && fault_ == WrongSum::tied_missing) factor = part->rank() == 0 ? 1 : 0;
    if (splits_ == 3 && fault_ == WrongSum::tied_halved) factor = 0.5;
    return std::make_unique<OwningScalingGroup>(std::move(part), factor);
  }

 private:
  comm::ProcessGroup& world_;
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
