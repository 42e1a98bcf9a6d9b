// Task: all-to-all with blocks of any lengths. Block j of `in` goes to rank j, where it becomes
// block number `rank` of `out`; blocks lie one behind the other in the order of the ranks. Each is
// sent once, straight to its owner; your own is copied. Begin with another partner than the other
// ranks do, or all of them wait for one. Use narrow and copy_; the contract stands in
// engine/collectives/all_to_all.hpp.
#include "engine/collectives/all_to_all.hpp"

#include <numeric>

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void all_to_all(comm::Peers& peers, const Tensor& in, Tensor out,
                std::span<const std::int64_t> to_each, std::span<const std::int64_t> from_each) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)peers, (void)in, (void)out, (void)to_each, (void)from_each;
  throw NotImplemented("all_to_all");
  // <<< your code
}

}  // namespace lockstep::collectives
