// The case format of sequence_parallel_region, shared by adapter and exam: that of a layer, with
// options.
#pragma once

#include "grader/play/layer_play.hpp"

namespace lockstep::grader {

// The functions that a case calls: one of the two ends alone, or a region. In a region, a rank
// multiplies its slice by a gain and adds a shift, as a norm ends; the gathered tensor is
// multiplied by factors of which each rank has its own, and scattered; and a bias is added to the
// slice.
enum class SequenceAsked : std::int64_t { gather, scatter, region };

// The parameters of a region, in this order.
enum class RegionParameter : std::uint8_t { gain, shift, factors, bias };

struct SequenceOptions {
  SequenceAsked asked = SequenceAsked::region;
  bool keeps_slice = false;  // of the gathered tensor
  // On odd ranks, the bias has no grad when gradients are summed.
  bool forgets = false;

  std::vector<std::int64_t> listed() const {
    return {static_cast<std::int64_t>(asked), keeps_slice ? 1 : 0, forgets ? 1 : 0};
  }
  static SequenceOptions of(const std::vector<std::int64_t>& list) {
    return {static_cast<SequenceAsked>(list.at(0)), list.at(1) != 0, list.at(2) != 0};
  }
};

}  // namespace lockstep::grader
