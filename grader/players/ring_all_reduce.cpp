// Plays all-reduce cases: several calls on one group, results of all of them.
#include "grader/players/ring_all_reduce.hpp"

#include <cstring>

#include "engine/collectives/ring_all_reduce.hpp"
#include "grader/players/poison_device.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  const AllReduceCase c = decode_all_reduce_case(played.input);
  PoisonDevice device;
  std::unique_ptr<comm::ProcessGroup> world;
  const auto group = make_group(played, c.group, world);
  ByteWriter out;
  if (!group) return out.take();
  for (const Bytes& values : c.calls) {
    const auto count = static_cast<std::int64_t>(values.size() / bytes_of(c.dtype));
    Tensor data = empty({count}, c.dtype, device);
    if (!values.empty()) std::memcpy(data.raw_bytes().data(), values.data(), values.size());
    collectives::ring_all_reduce(*group, data, c.op);
    out.put_bytes(data.raw_bytes());
  }
  return out.take();
}

}  // namespace lockstep::grader
