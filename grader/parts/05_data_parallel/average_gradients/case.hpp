// The case format of average_gradients, shared by adapter and exam.
#pragma once

#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct GradientCase {
  GroupChoice group;
  Gradients mine;
  std::uint8_t peer_dies = 0;  // then a rank reports only how its call ended
};

inline Bytes encode(const GradientCase& c) {
  ByteWriter out;
  write(out, c.group);
  write(out, c.mine);
  out.put(c.peer_dies);
  return out.take();
}

inline GradientCase decode_gradient_case(ByteReader& in) {
  GradientCase c;
  c.group = read_group_choice(in);
  c.mine = read_gradients(in);
  c.peer_dies = in.get<std::uint8_t>();
  return c;
}

}  // namespace lockstep::grader
