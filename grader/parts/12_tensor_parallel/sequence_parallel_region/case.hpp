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

// The ones that every rank has whole, in the order in which their gradients are summed.
constexpr RegionParameter summed_parameters[] = {RegionParameter::gain, RegionParameter::shift,
                                                 RegionParameter::bias};

// The parameters without a grad on odd ranks when gradients are summed: the first of the list, the
// last, or all. alone: all, and each is summed in a call of its own.
enum class Forgotten : std::int64_t { nothing, gain, bias, all, alone };

struct SequenceOptions {
  SequenceAsked asked = SequenceAsked::region;
  bool keeps_slice = false;  // of the gathered tensor
  Forgotten forgotten = Forgotten::nothing;

  bool forgets(RegionParameter one, int rank) const {
    if (rank % 2 == 0 || forgotten == Forgotten::nothing) return false;
    return forgotten == Forgotten::all || forgotten == Forgotten::alone ||
           one == (forgotten == Forgotten::gain ? RegionParameter::gain : RegionParameter::bias);
  }

  std::vector<std::int64_t> listed() const {
    return {static_cast<std::int64_t>(asked), keeps_slice ? 1 : 0,
            static_cast<std::int64_t>(forgotten)};
  }
  static SequenceOptions of(const std::vector<std::int64_t>& list) {
    return {static_cast<SequenceAsked>(list.at(0)), list.at(1) != 0,
            static_cast<Forgotten>(list.at(2))};
  }
};

}  // namespace lockstep::grader
