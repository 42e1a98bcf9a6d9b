// The problems of fully_sharded; the service that is what units compute; and the rules for what
// ranks show it.
#pragma once

#include <string>
#include <vector>

#include "grader/exam/ranks/dealt.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/member_memory.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/parts/11_sharding/fully_sharded/case.hpp"

namespace lockstep::grader::fully_sharded {

using zero::Sharding;

struct Problem {
  Members members = whole_world(2);
  Sharding sharding = Sharding::full_shard;
  DType dtype = DType::float64;
  std::vector<std::vector<std::int64_t>> units{{35, 12}, {1, 64, 13}, {72}};  // numbers
  bool measured = false;  // the memory of its processes is
  int steps = 2, passes = 1;
  Held held = Held::usual;
  bool missing = false;  // gradients, as in drawn passes: some on even ranks, one on no rank
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  int shard_ranks() const { return sharding == Sharding::no_shard ? 1 : ranks(); }
  std::string description() const;
  zero::FlatShards cut(std::size_t unit) const;    // of numbers
  std::int64_t bytes(std::int64_t numbers) const;  // of their tensor
  GradientPlan gradients() const;                  // of all parameters, unit after unit
  std::size_t first_parameter(std::size_t unit) const;
};

inline constexpr double rate = 0.25;

ShardedCase case_of(const Problem& p, std::uint64_t salt, int rank);

// A parameter's gradient on a rank in a pass, counted from the first step on; nothing where
// backward makes none.
std::optional<std::vector<double>> gradient_of(const Problem& p, std::uint64_t salt, int rank,
                                               int pass, std::size_t parameter);

// The right numbers of all parameters of a unit, by step and unit.
struct Trained {
  std::vector<std::vector<std::vector<double>>> values;     // in the passes of the step
  std::vector<std::vector<std::vector<double>>> gradients;  // the mean that the step ends with
};
Trained train(const Problem& p, std::uint64_t salt);

class UnitService final : public TypedService<UnitCall> {
 public:
  UnitService(CaseRunner& runner, Problem p, std::uint64_t salt)
      : runner_(&runner), p_(std::move(p)), salt_(salt), notes_(p_.members.ranks.size()) {}

  struct Note {
    UnitCall call;
    int step = 0, pass = 0;                                 // the pass within its step
    std::optional<std::int64_t> process_bytes, peak_bytes;  // now; at most since the last note
  };
  //   Throws  MalformedMessage when a rank did not run all of its passes
  const std::vector<Note>& notes(int rank) const;

 private:
  std::optional<Answer> answer(const sim::Actor& who, UnitCall call, double now) override;
  std::size_t calls_of_pass() const { return 2 * p_.units.size(); }
  std::size_t calls_of_step() const {
    return calls_of_pass() * static_cast<std::size_t>(p_.passes) + 1;
  }

  CaseRunner* runner_;  // reads the processes' memory
  Problem p_;
  std::uint64_t salt_;
  std::vector<std::vector<Note>> notes_;
};

using Reports = std::vector<ShardedReport>;

// Values in passes, and gradients after them.
void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const Reports& reports, const UnitService& units);
// The bytes that are alive in passes.
void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const UnitService& units);

}  // namespace lockstep::grader::fully_sharded
