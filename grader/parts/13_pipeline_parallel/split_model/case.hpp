// The case format of split_model, shared by adapter and exam.
#pragma once

#include "grader/play/chain_play.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct SplitCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  std::vector<int> device_of_layer{};
  double forward_s = 0;  // of each layer; backward takes twice as long
  ChainShare share{};
};

struct SplitReport {
  // Layers in the order of their passes: 1, 2, … forward, -1, -2, … backward.
  std::vector<int> passes{};
  std::vector<std::vector<double>> gradients{};  // of the device's layers
  std::vector<double> loss{};                    // its elements; empty: undefined
};

template <typename Archive>
void fields(Archive& archive, SplitCase& c) {
  archive(c.group, c.peer, c.device_of_layer, c.forward_s, c.share);
}
template <typename Archive>
void fields(Archive& archive, SplitReport& report) {
  archive(report.passes, report.gradients, report.loss);
}

}  // namespace lockstep::grader
