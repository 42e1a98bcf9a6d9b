// Task: a pass in which ranks use different parameters. Before backward, begin_with_unused hands
// the parameters that this rank does not use to the reducer, so that no bucket waits for them, and
// starts one small all-reduce that tells which parameters some rank uses. After backward,
// end_with_unused gives a parameter that no rank used the grad that it had before, or none; with
// zeros, weight decay would move it. Nothing waits before end_with_unused.
// The contract is in engine/parallel/ddp/unused_parameters.hpp; the reducer's is in
// engine/parallel/ddp/reducer.hpp.
#include "engine/parallel/ddp/unused_parameters.hpp"

#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::ddp {

UnusedPass begin_with_unused(comm::ProcessGroup& group, Reducer& reducer,
                             std::span<Parameter* const> parameters,
                             std::span<const std::uint8_t> used_here) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)reducer, (void)parameters, (void)used_here;
  throw NotImplemented("unused_parameters");
  // <<< your code
}

void end_with_unused(UnusedPass pass, std::span<Parameter* const> parameters) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)pass, (void)parameters;
  throw NotImplemented("unused_parameters");
  // <<< your code
}

}  // namespace lockstep::ddp
