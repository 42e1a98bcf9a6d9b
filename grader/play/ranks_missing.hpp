// Reports the outcome of a call for which all ranks must come, in a form that the judge
// understands.
#pragma once

#include "engine/base/error.hpp"
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::grader {

// `use` returns the report of its success. A stub's NotImplemented goes on its way.
template <typename Report>
Report outcome_of(const auto& use) {
  using Kind = typename Report::Kind;
  try {
    return use();
  } catch (const comm::RanksMissing& error) {
    return {.kind = Kind::ranks_missing, .missing = error.ranks, .what = error.what()};
  } catch (const UsageError& error) {
    return {.kind = Kind::usage_error, .what = error.what()};
  } catch (const CommError& error) {
    return {.kind = Kind::comm_error, .what = error.what()};
  } catch (const NotImplemented&) {
    throw;
  } catch (const std::exception& error) {
    return {.kind = Kind::other_error, .what = error.what()};
  }
}

}  // namespace lockstep::grader
