// A player that runs the broken program whose number it is given.
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/player.hpp"
#include "tests/sim/broken_programs.hpp"

using namespace lockstep;

int main() {
  return sim::serve_cases([](sim::PlayerCase& given) {
    const auto group = comm::make_sim_group(given.port, given.rank, given.ranks);
    CpuDevice device;
    test::MarkedLines lines;
    test::Self self{*group, device, lines};
    test::broken_programs().at(given.input.get<std::uint64_t>()).run(self);
    return Bytes{};
  });
}
