// Computes what the masters should be after each step, and gives the ranks their gradients.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grader/exam/ranks/asked.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/parts/11_sharding/mixed_precision_step/case.hpp"

namespace lockstep::grader::mixed_precision_step {

// The values of a step's gradients.
struct StepPlan {
  enum class Holds : std::uint8_t {
    numbers,
    infinity,      // one element of one rank
    not_a_number,  // the same
    too_large,     // one element of one rank is 2, which a scale above 32,752 takes beyond float16
    zeros_on_one,  // all elements of one rank
    zeros,         // all elements
    large_sum,     // one element is 40,000 on all ranks: float16 holds the mean of two, not the sum
  };
  Holds holds = Holds::numbers;
  int rank = 0;
  std::int64_t element = 0;
};

struct MixedProblem {
  Members members = whole_world(2);
  DType dtype = DType::float16;
  MixedRule rule = MixedRule::momentum;
  std::int64_t range = 5;  // S
  std::vector<StepPlan> steps{{}, {}, {}};
  double size = 1e-4;  // of gradients
  double max_norm = 0;
  double scale = 65536;
  std::int64_t good_steps = 0, interval = 2000;
  std::uint64_t schedule_seed = 0;

  // By which an update is some ten-thousandth.
  double rate() const { return rule == MixedRule::adam ? 1e-4 : 1e-4 / size; }
  int ranks() const { return members.size(); }
  std::int64_t elements() const { return range * ranks(); }
  std::string description() const;
};

// A step as it is right: before it, all ranks have the scale `during`.
struct RightStep {
  zero::StepEnd end = zero::StepEnd::taken;
  double during = 0, scale = 0;
  std::int64_t good_steps = 0;
  std::vector<std::vector<double>> masters, tolerance;  // by rank of the group
};

std::vector<double> first_masters(const MixedProblem& p, std::uint64_t salt);  // [N·S]
// The gradients that backward leaves on a rank, in 16 bits, with the loss multiplied by `scale`.
std::vector<double> gradient_of(const MixedProblem& p, std::uint64_t salt, int rank,
                                std::size_t step, double scale);
std::vector<RightStep> steps_of(const MixedProblem& p, std::uint64_t salt);
MixedCase case_of(const MixedProblem& p, std::uint64_t salt, int rank);

// The norm of the first step's mean gradient.
double first_norm(const MixedProblem& p, std::uint64_t salt);

// Serves the backward passes.
class BackwardService final : public TypedService<MixedBackward> {
 public:
  BackwardService(MixedProblem p, std::uint64_t salt) : p_(std::move(p)), salt_(salt) {}
  // The scales with which a rank of the group ran backward in a step, in order.
  const std::vector<double>& scales(int rank, std::size_t step) const;

 private:
  std::optional<Answer> answer(const sim::Actor& who, MixedBackward call, double now) override;

  MixedProblem p_;
  std::uint64_t salt_;
  std::map<std::pair<int, std::size_t>, std::vector<double>> scales_;
};

}  // namespace lockstep::grader::mixed_precision_step
