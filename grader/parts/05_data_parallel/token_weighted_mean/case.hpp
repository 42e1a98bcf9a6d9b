// The case format of token_weighted_mean, shared by adapter and exam.
#pragma once

#include "engine/parallel/data_parallel/token_weighted_mean.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// One call; a case has several, one after the other.
struct WeightedCall {
  data_parallel::LossSum loss;
  Gradients mine;
};

struct WeightedCase {
  GroupChoice group;
  std::vector<WeightedCall> calls;
  std::uint8_t peer_dies = 0;  // then a rank reports only how its calls ended
};

inline Bytes encode(const WeightedCase& c) {
  ByteWriter out;
  write(out, c.group);
  out.put(c.peer_dies);
  out.put(static_cast<std::uint32_t>(c.calls.size()));
  for (const WeightedCall& call : c.calls) {
    out.put(call.loss.sum).put(call.loss.counted).put(call.loss.padded);
    write(out, call.mine);
  }
  return out.take();
}

inline WeightedCase decode_weighted_case(ByteReader& in) {
  WeightedCase c;
  c.group = read_group_choice(in);
  c.peer_dies = in.get<std::uint8_t>();
  c.calls.resize(in.get<std::uint32_t>());
  for (WeightedCall& call : c.calls) {
    call.loss.sum = in.get<double>();
    call.loss.counted = in.get<std::int64_t>();
    call.loss.padded = in.get<std::int64_t>();
    call.mine = read_gradients(in);
  }
  return c;
}

}  // namespace lockstep::grader
