// A player that runs the references, so that the process host is held against the other worlds.
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/player.hpp"
#include "tests/comm/reference_parts.hpp"

using namespace lockstep;

int main() {
  return sim::serve_cases([](sim::PlayerCase& given) {
    const auto group = comm::make_sim_group(given.port, given.rank, given.ranks);
    return ByteWriter().put(test::bits_of_parts(*group)).take();
  });
}
