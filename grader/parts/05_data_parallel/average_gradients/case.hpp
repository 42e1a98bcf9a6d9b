// The case format of average_gradients, shared by adapter and exam.
#pragma once

#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct GradientCase {
  GroupChoice group{};
  Gradients mine;
  Peer peer = Peer::stays;
};

template <typename Archive>
void fields(Archive& archive, GradientCase& c) {
  archive(c.group, c.mine, c.peer);
}

}  // namespace lockstep::grader
