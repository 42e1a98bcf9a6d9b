// Plays read_the_hang: a list of reports, a diagnosis of each.
#include "grader/parts/03_collectives/read_the_hang/case.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  const auto count = played.input.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    const comm::Diagnosis found = comm::diagnose(read_hang_report(played.input));
    out.put(found.kind).put_list(std::span<const int>(found.culprits)).put(found.number);
  }
  return out.take();
}

}  // namespace lockstep::grader
