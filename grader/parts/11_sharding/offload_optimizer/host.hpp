// The host that the judge is: its tensors, its link and its processor, in virtual time; and the
// script of what the device computes. It notes what a check has to know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/services.hpp"
#include "grader/parts/11_sharding/offload_optimizer/case.hpp"

namespace lockstep::grader::offload_optimizer {

struct OffloadProblem {
  Members members{};
  DType dtype = DType::float16;
  std::vector<std::int64_t> sizes{7};  // by bucket
  // The buckets whose gradients come, in order. One that comes again: the step was given up.
  std::vector<std::vector<std::uint32_t>> steps{{0}};
  Odd odd = Odd::none;            // in the first gradient of all
  double gap_s = 1e-3;            // backward takes as long for each gradient
  double rest_s = 0;              // and as long from the last one to step()
  double link_bytes_per_s = 1e9;  // each way
  double updates_per_s = 250e6;   // elements
  double learning_rate = 1e-2, weight_decay = 0;
  bool large = false;  // its tensors are so large that the system's count of a process shows them
  std::uint64_t schedule_seed = 0;

  std::int64_t bytes_of_bucket(std::size_t bucket) const {
    return sizes.at(bucket) * static_cast<std::int64_t>(bytes_of(dtype));
  }
  std::string description() const;
};

Bytes first_parameters(const OffloadProblem& p, std::uint64_t salt, std::size_t bucket);
// The gradient that comes as number `event` of the step.
Bytes gradient_of(const OffloadProblem& p, std::uint64_t salt, std::size_t step, std::size_t event);
OffloadCase case_of(const OffloadProblem& p, std::uint64_t salt);

// The host's notes of a step: from the first event after the step before to the end of step(); the
// first notes end with the first event.
struct StepNotes {
  std::int64_t down_bytes = 0, up_bytes = 0;
  std::vector<std::uint32_t> not_sent;  // buckets whose copy had not begun at the next event
  std::vector<std::uint32_t> waited;    // after which the next event was asked for late
  std::int64_t updated = 0;             // elements of masters
  std::int64_t early_updates = 0;       // begun before step()
  std::vector<std::uint32_t> stale;     // updates that read a gradient before it was there
  std::int64_t left_copies = 0;         // up, which step() did not wait for
  std::int64_t early_copies = 0;        // up, of masters whose update was not over
  double began_s = 0, took_s = 0;       // step()
  double best_s = 0;                    // what it takes if nothing waits in vain
};

class HostService final : public TypedService<HostCall> {
 public:
  using Memory = std::function<std::optional<std::int64_t>()>;
  HostService(OffloadProblem p, std::uint64_t salt, Memory memory)
      : p_(std::move(p)), salt_(salt), memory_(std::move(memory)), notes_(1) {}

  // The parameters after a step, by bucket, as the device told them.
  const std::vector<Bytes>& after(std::size_t step) const;
  const StepNotes& before() const { return notes_.front(); }
  const StepNotes& in_step(std::size_t step) const { return notes_.at(step + 1); }
  // The bytes that the player's process came to hold beside those it held when it was ready.
  std::int64_t memory_bytes() const { return most_bytes_ - ready_bytes_; }

 private:
  struct Arrival {
    double at_s = 0;
    std::string name;
    std::vector<float> values;
  };
  struct Ticket {
    double over_s = 0;
    Bytes values{};
    bool left = false;  // a copy up that nobody has waited for
  };

  std::optional<Answer> answer(const sim::Actor& who, HostCall call, double now) override;
  HostAnswer start(const HostCall& call, double now);
  void count_bytes(std::int64_t bytes);  // that it is to keep
  std::uint64_t copy_down(const HostCall& call, double now);
  std::uint64_t copy_up(const HostCall& call, double now);
  std::uint64_t update(const HostCall& call, double now);
  Answer next(double now);
  void look_back(double now);
  void plan_best(double now);
  std::uint64_t ticket_of(double over_s, Bytes values = {});
  // Puts what has come until now in its place.
  void arrive(double now);
  bool is_under_way(const std::string& name) const;
  std::vector<float>& tensor(const std::string& name, std::int64_t count);
  StepNotes& notes() { return notes_.back(); }

  OffloadProblem p_;
  std::uint64_t salt_;
  Memory memory_;
  std::vector<StepNotes> notes_;
  std::vector<std::vector<Bytes>> after_{};  // by step
  std::map<std::string, std::vector<float>> tensors_;
  std::vector<Arrival> under_way_;
  std::vector<Ticket> tickets_;
  double down_free_s_ = 0, up_free_s_ = 0, processor_free_s_ = 0;
  std::int64_t ready_bytes_ = 0, most_bytes_ = 0, bytes_ = 0;
  std::size_t step_ = 0, event_ = 0;  // the next one
  bool in_step_ = false;
  // The bytes of the gradient that was given last, until a copy of them has begun.
  std::optional<Bytes> awaited_{};
  double given_s_ = 0;
  std::map<std::uint32_t, double> down_s_{};  // when a gradient of this step is there
};

}  // namespace lockstep::grader::offload_optimizer
