// Right steps, and in each of them memory of its own for the gradients and moments of the whole
// model, gone when the step is over: neither the device's account nor a look between two steps
// knows of it. In its first step, the hoarding impostor holds no more than it needs.
#define make_zero_1_optimizer make_hoard
#include "grader/impostors/lying/zero_1_optimizer.hoards.cpp"
#undef make_zero_1_optimizer

namespace lockstep::zero {
namespace {

class WholeInScratch final : public Zero1Optimizer {
 public:
  WholeInScratch(comm::ProcessGroup& group, std::vector<Parameter*> parameters, FlatShards plan,
                 const Zero1Options& options, AdamShard state)
      : group_(group),
        parameters_(std::move(parameters)),
        plan_(std::move(plan)),
        options_(options),
        state_(std::move(state)) {}

  AdamShard state() const override { return state_; }
  void step() override {
    std::size_t bytes = 0;
    for (const Parameter* one : parameters_) bytes += one->value.raw_bytes().size();
    const std::vector<std::byte> scratch(3 * bytes, std::byte{1});
    const volatile std::byte* used = scratch.data();
    static_cast<void>(*used);
    const auto right = make_hoard(group_, parameters_, plan_, options_, state_);
    right->step();
    state_ = right->state();
  }

 private:
  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  FlatShards plan_;
  Zero1Options options_;
  AdamShard state_;
};

}  // namespace

std::unique_ptr<Zero1Optimizer> make_zero_1_optimizer(comm::ProcessGroup& group,
                                                      std::vector<Parameter*> parameters,
                                                      const FlatShards& plan,
                                                      const Zero1Options& options,
                                                      AdamShard state) {
  return std::make_unique<WholeInScratch>(group, std::move(parameters), plan, options,
                                          std::move(state));
}

}  // namespace lockstep::zero
