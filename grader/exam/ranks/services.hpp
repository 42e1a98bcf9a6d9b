// The exam of a part that talks to the judge: to a store, a loader or a host that is served in
// virtual time. Such a part is asked what the family ranks is asked (exam/ranks/checks.hpp); an
// exam says besides what the judge serves. What a case's services have seen is what is compared.
//
//   const ServicesContract<Problem, StoreCase, Meetings> contract{…};
//   const RanksChecks checks(contract);
#pragma once

#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/reported_service.hpp"

namespace lockstep::grader {

// A player's result where all that counts was told to the services.
struct NoReport {};
template <typename Archive>
void fields(Archive&, NoReport&) {}

// A Problem of one rank has the Members {}, one of several those of a world.
template <typename Problem, typename Case, typename... Services>
using ServicesContract = RanksContract<Problem, Case, NoReport, Services...>;

}  // namespace lockstep::grader
