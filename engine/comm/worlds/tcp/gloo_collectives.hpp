// Each collective by Gloo's own algorithms, or by two of them where Gloo has none:
//
//   broadcast       binomial tree
//   reduce          ring reduce-scatter, then gather; what others hold in between is scratch
//   all_reduce      ring; chunk c is x_c + (x_{c+1} + (… + x_{c-1})), reduced at one rank, then
//                   copied
//   gather, scatter star
//   all_gather      ring
//   reduce_scatter  all_to_all, then each rank adds its parts in the order of ranks 0, 1, 2, …; it
//                   needs scratch as large as the input
//   all_to_all      pairs
//   barrier         dissemination
//
// Included where Gloo is there.
#pragma once

#include <gloo/context.h>

#include <chrono>
#include <memory>

#include "engine/comm/collective.hpp"

namespace lockstep::comm {

// The arguments of one call of Gloo besides its data.
struct GlooRound {
  std::shared_ptr<::gloo::Context> context;
  std::uint32_t tag;
  std::chrono::milliseconds timeout;
};

// Carries `collective` out. Whatever Gloo throws goes on to the caller.
//   Requires  the ranks agree; of all_to_all with unequal parts also pair by pair, since Gloo ends
//             the process when more arrives than was expected
void run_on_gloo(const Collective& collective, const GlooRound& round);

// Every rank's number, by rank.
std::vector<std::uint64_t> all_gather_number(std::uint64_t mine, const GlooRound& round);
// Returns what each rank has for this one, by rank.
std::vector<std::int64_t> exchange_numbers(const std::vector<std::int64_t>& for_each,
                                           const GlooRound& round);

}  // namespace lockstep::comm
