// The case format of average_gradients, shared by adapter and exam.
#pragma once

#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct GradientCase {
  GroupChoice group;
  Gradients mine;
};

inline Bytes encode(const GradientCase& c) {
  ByteWriter out;
  write(out, c.group);
  write(out, c.mine);
  return out.take();
}

inline GradientCase decode_gradient_case(ByteReader& in) {
  GradientCase c;
  c.group = read_group_choice(in);
  c.mine = read_gradients(in);
  return c;
}

}  // namespace lockstep::grader
