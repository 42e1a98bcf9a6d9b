// Computes the parameters after the requests to a server, for the right server and for the usual
// mistakes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "grader/judge/causes.hpp"
#include "grader/parts/09_asynchronous/parameter_server/case.hpp"

namespace lockstep::grader::parameter_server {

using Kind = async_sgd::Request::Kind;
using Values = std::vector<double>;

// A request as the server took it.
struct Taken {
  Kind kind = Kind::pull;
  int worker = 0;
  double rate = 0;
  Values gradient{};
};

// A rule that turns pushes into updates.
enum class When : std::uint8_t { at_once, in_rounds };
enum class Factor : std::uint8_t { one, over_workers, over_active, over_pushes };
enum class Sum : std::uint8_t { of_all, last_come, first_worker, last_worker };
struct UpdateRule {
  When when = When::at_once;
  Factor factor = Factor::over_workers;
  Sum sum = Sum::of_all;        // of the pushes of a round
  int times = 1;                // each update is made
  bool keeps_lost_push = true;  // in its round
  bool keeps_left_push = true;  // the same, of every worker that leaves
  bool first_rate = false;      // that of the first push, always
  bool leaving_ends = true;     // a round of which the others have pushed
  bool reversed = false;        // a round's pushes are added from the last worker to the first
};
UpdateRule right_rule(const LoopsCase& c);

// The parameters after each update, the initial ones first.
std::vector<Values> versions(const LoopsCase& c, std::span<const Taken> taken,
                             const UpdateRule& rule);

// Up to what another order of the same operations changes.
bool near(std::span<const double> seen, std::span<const double> expected);

// Why the parameters after all of `taken` are these, which they should not be.
Cause cause_of(const LoopsCase& c, std::span<const Taken> taken, const Values& seen);

}  // namespace lockstep::grader::parameter_server
