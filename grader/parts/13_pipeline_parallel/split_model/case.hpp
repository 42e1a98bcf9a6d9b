// The case format of split_model, shared by adapter and exam.
#pragma once

#include "grader/play/chain_play.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct SplitCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  std::vector<int> device_of_layer{};
  ChainShare share{};  // without its matrices, which are the judge's
};

// A layer is run by the judge: it is given the numbers that the pass needs, and answers after the
// pass's time with those that it makes.
struct LayerCall {
  static constexpr const char* service = "layers";
  int layer = 0;
  std::uint8_t back = 0;
  std::vector<double> numbers{};
};
struct LayerAnswer {
  std::vector<double> numbers{};
};

struct SplitReport {
  std::vector<double> loss{};  // its elements; empty: undefined
};

template <typename Archive>
void fields(Archive& archive, SplitCase& c) {
  archive(c.group, c.peer, c.device_of_layer, c.share);
}
template <typename Archive>
void fields(Archive& archive, LayerCall& call) {
  archive(call.layer, call.back, call.numbers);
}
template <typename Archive>
void fields(Archive& archive, LayerAnswer& answer) {
  archive(answer.numbers);
}
template <typename Archive>
void fields(Archive& archive, SplitReport& report) {
  archive(report.loss);
}

}  // namespace lockstep::grader
