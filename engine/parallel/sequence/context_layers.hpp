// Makes the layers of a transformer for ranks that share each sequence: context parallelism. Every
// rank has all weights and its own tokens of each sample, for which it computes all layers by
// itself; attention alone communicates. It stands in front of another maker, whose layers may be
// shared along a further axis.
//   N ranks of the group, this one is r; B batch, S tokens of a sample, of which rank r has S_r
//
// A rank reads whole samples, and takes its tokens at the embedding and its labels at the loss. Its
// loss is the sum over its labels, times N, over all labels of the sample, so that the mean over
// the ranks is the sample's loss, also where ranks have unequal numbers of tokens. Gradients then
// are means over the ranks, as over replicas.
// Source: [LZA23], [JTZ23], [LLAMA3] §3.3.2
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/nn/layer_maker.hpp"

namespace lockstep::sequence_parallel {

// How ranks share a sequence, and how they attend: in a ring, of slices or in zigzag, or by heads.
enum class ContextKind : std::uint8_t { ring, zigzag, ulysses };

// The positions of each rank's tokens of a sample.
//   Throws  ContractError when the sample has too few of them
std::vector<Positions> positions_of_ranks(ContextKind kind, std::int64_t length, int ranks);

class ContextLayers : public nn::MakerInFront {
 public:
  //   group   must outlive the layers that are made
  //   length  S, of all samples
  //   behind  makes the layers; its attention layers attend by this maker's rule from now on
  //   Throws  ContractError as positions_of_ranks
  ContextLayers(comm::ProcessGroup& group, ContextKind kind, std::int64_t length,
                std::shared_ptr<nn::LayerMaker> behind);

  nn::TokenShare tokens() const override;
  nn::TokenShare labels() const override;
  std::unique_ptr<nn::Module> embedding(Parameter& table) const override;
  std::unique_ptr<nn::Module> head(Parameter& table) const override;

 private:
  int ranks_;
  std::int64_t length_;
  Positions own_;
};

}  // namespace lockstep::sequence_parallel
