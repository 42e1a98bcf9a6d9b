// Computes the parameters after the requests to a server.
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

// The parameters after each update, the initial ones first.
std::vector<Values> versions(const LoopsCase& c, std::span<const Taken> taken);

// Up to what another order of the same operations changes.
bool near(std::span<const double> seen, std::span<const double> expected);

// Why the parameters after all of `taken` are these, which they should not be.
Cause cause_of(const LoopsCase& c, std::span<const Taken> taken, const Values& seen);

}  // namespace lockstep::grader::parameter_server
