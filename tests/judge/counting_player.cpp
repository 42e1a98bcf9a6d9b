// The player of the judge's own tests: it gives back what it is given, and adds the number of cases
// it was given before where the input asks for it.
#include "engine/sim/player.hpp"

int main() {
  int before = 0;
  return lockstep::sim::serve_cases([&](lockstep::sim::PlayerCase& played) {
    const auto value = played.input.get<int>();
    const auto leaves_state = played.input.get<int>();
    lockstep::ByteWriter out;
    out.put(value + (leaves_state != 0 ? before : 0));
    ++before;
    return out.take();
  });
}
