// Rules for parts that reduce gradients in fewer bytes: what each call leaves on each rank, within
// what the contract loses; that all ranks hold the same bits; that nothing is lost over many calls;
// what travelled, and when.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/asked.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/play/lossy_play.hpp"

namespace lockstep::grader {

using Numbers = std::vector<double>;

// Notes what ranks tell of their calls, and gives each its next gradient when backward is over.
class LossyNotes final : public sim::Service {
 public:
  // The answer to `returned`, of a rank of the world, for a call that counts from 0.
  struct Next {
    Bytes gradient{};
    double gap_s = 0;  // what backward takes
  };
  using NextOf = std::function<Next(int world_rank, std::size_t call)>;
  LossyNotes(int calls, NextOf next_of)
      : notes_({.steps = static_cast<std::uint32_t>(calls), .reports = 3}),
        next_of_(std::move(next_of)) {}

  std::string_view name() const override { return LossyNote::service; }
  std::optional<Answer> serve(const sim::Actor& who, const sim::Request& request,
                              double now) override;
  const auto& told(std::uint32_t step, int rank) const { return notes_.told(step, rank); }

 private:
  ReportedService<LossyNote> notes_;
  NextOf next_of_;
};

// Adds the situations into which these values of one rank put a part.
void ask_of(const Numbers& values, DType dtype, Situations& asked);

// A case that was played, as numbers.
struct LossySeen {
  Members members;
  DType dtype = DType::float32;
  std::vector<std::vector<Numbers>> gradients;  // given, by call and rank of the group
  std::vector<std::vector<Numbers>> kept;       // at first, by bucket and rank; none kept: empty
  std::vector<std::vector<Numbers>> results;    // by call and rank
  std::vector<std::vector<Numbers>> states;     // after each call's wait(), by call and rank
  std::vector<std::vector<Numbers>> returned;   // the same, when the call's function returned

  int ranks() const { return members.size(); }
  std::size_t calls() const { return gradients.size(); }
  // The state that a rank kept of the bucket of this call, before the call.
  const Numbers& state_before(std::size_t call, int rank) const;
};

// The values that some numbers must have, and what is said of those that differ.
struct Right {
  std::string name;       // "the mean over 4 ranks in float16"
  Numbers values{};       // NaN and infinities are themselves
  Numbers tolerance{};    // of each element; none: exact
  std::string allowed{};  // why there is a tolerance: "each share is rounded to 11 bits"
  // The element from which on tolerances may be infinite, since another rule judges those numbers.
  std::size_t judged_elsewhere = SIZE_MAX;
  std::vector<Mistake<Numbers>> mistakes{};  // usual ones, the likeliest first
  Cause otherwise{"other_values", "the wrong elements were added, or in the wrong places"};
  // The cause of values that are not finite where the right ones are, if this mistake gives some.
  std::optional<Cause> not_finite{};
  // The elements of a part and the sums before they are rounded, if each rank sums a part and
  // passes it on rounded.
  std::int64_t part = 0;
  Numbers unrounded{};
};

// The gradient after a call: right on every rank, and the same bits on all.
void check_result(CaseRunner& runner, const Played& played, const LossySeen& seen, std::size_t call,
                  const Right& right);
// Checks what a rank keeps of the bucket of a call, after its wait().
void check_state(CaseRunner& runner, const Played& played, const LossySeen& seen, std::size_t call,
                 int rank, const Right& right);

// The same, and that it was so when the function returned.
void check_state_at_return(CaseRunner& runner, const Played& played, const LossySeen& seen,
                           std::size_t call, int rank, const Right& right);

// Mistakes of every mean: not averaged, averaged twice, not reduced, of the call before.
std::vector<Mistake<Numbers>> mistakes_of_mean(const LossySeen& seen, std::size_t call,
                                               const Numbers& mean);

// Over all calls: N times the results, and what the ranks keep at the end, add up to what they kept
// at first and what came in. `tolerance` of an element.
void check_nothing_lost(CaseRunner& runner, const Played& played, const LossySeen& seen,
                        double tolerance, const std::string& allowed);

// The bytes that a call may send from each rank, and the collectives that it consists of.
struct Wire {
  double bytes = 0;     // of the busiest rank
  std::string formula;  // "2(N-1)/N of 400 elements of 2 bytes"
  int collectives = 1;
  std::string made_of;         // "one all-reduce"
  std::string more{}, less{};  // what usually sends more, or less
};
// Two-sided: within 1 percent.
void check_wire(CaseRunner& runner, const Played& played, const LossySeen& seen, const Wire& wire);

// When a call returns, its first collective has begun and nothing was waited for.
void check_in_flight(CaseRunner& runner, const Played& played, const LossySeen& seen,
                     const LossyNotes& notes);

// Explains a crash of a rank in the wait() of a call: what the function that ran there can have
// lost.
void explain_crash(Failure& found, int calls, const LossyNotes& notes);

}  // namespace lockstep::grader
