// Ranks that stand by: they are in the world and in none of the run's places.
#include "tests/train/doubles.hpp"

namespace lockstep::test {
namespace {

// A rank that stands by is asked for its place and for nothing else.
class SomeStandBy final : public train::Strategy {
 public:
  SomeStandBy(comm::ProcessGroup& group, int training, const auto& make)
      : trainers_(
            group.split(group.rank() < training ? 0 : comm::ProcessGroup::no_color, group.rank())) {
    if (trainers_) inner_ = make(*trainers_);
  }

  train::RankPosition position() const override {
    return inner_ ? inner_->position() : train::RankPosition{train::Role::stand_by, 0, 1, 0};
  }
  comm::ProcessGroup& trainers() override { return training().trainers(); }
  Device& device() override { return training().device(); }
  DType dtype() const override { return training().dtype(); }
  double rate() const override { return training().rate(); }
  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    return training().step(batches, occasion, rate);
  }
  train::Cost cost() const override { return training().cost(); }
  train::Evaluation evaluate(const data::Dataset& dataset) override {
    return training().evaluate(dataset);
  }
  void serve() override { training().serve(); }
  void end() override { training().end(); }
  std::vector<train::Piece> pieces() override { return training().pieces(); }
  void restore(const checkpoint::SavedRun& saved) override { training().restore(saved); }
  void set_phase_watch(train::PhaseWatch* watch) override { training().set_phase_watch(watch); }

 private:
  train::Strategy& training() const {
    LOCKSTEP_CHECK(inner_ != nullptr, "a rank that stands by was asked to train");
    return *inner_;
  }

  std::unique_ptr<comm::ProcessGroup> trainers_;
  std::unique_ptr<train::Strategy> inner_;
};

}  // namespace

std::unique_ptr<train::Strategy> make_some_stand_by(
    comm::ProcessGroup& group, int training,
    const std::function<std::unique_ptr<train::Strategy>(comm::ProcessGroup& trainers)>& make) {
  return std::make_unique<SomeStandBy>(group, training, make);
}

}  // namespace lockstep::test
