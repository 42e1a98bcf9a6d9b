// A player that runs the conformance suite, so that it is held against the process host too.
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/player.hpp"
#include "tests/comm/conformance.hpp"

using namespace lockstep;

int main() {
  return sim::serve_cases([](sim::PlayerCase& given) {
    const auto group = comm::make_sim_group(given.port, given.rank, given.ranks);
    CpuDevice device;
    const auto counts = given.input.get_list<std::int64_t>();
    test::check_collectives(*group, device, all_dtypes, counts);
    test::check_messages_and_splits(*group, device);
    test::check_large(*group, device);
    return ByteWriter().put(test::bits_of_sums(*group, device)).take();
  });
}
