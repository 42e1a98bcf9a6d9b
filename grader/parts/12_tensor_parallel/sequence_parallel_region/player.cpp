// Plays sequence_parallel_region: one end on a tape, or a region between two ends, whose
// parameters' gradients are summed after the last pass.
#include "engine/parallel/tensor/sequence_parallel_region.hpp"

#include "engine/autograd/operations.hpp"
#include "grader/parts/12_tensor_parallel/sequence_parallel_region/case.hpp"

namespace lockstep::grader {
namespace {

class Region {
 public:
  Region(comm::ProcessGroup& group, std::deque<Parameter>& parameters,
         const SequenceOptions& options)
      : group_(group), parameters_(parameters), options_(options) {}

  Value forward(Tape& tape, const Value& x) const {
    if (options_.asked == SequenceAsked::gather) return gathered(tape, x);
    if (options_.asked == SequenceAsked::scatter) {
      return tensor_parallel::scatter_sum_sequence(tape, group_, x);
    }
    const auto leaf = [&](RegionParameter parameter) { return tape.leaf(of(parameter)); };
    const Value scaled = autograd::multiply(tape, x, leaf(RegionParameter::gain));
    const Value slice = autograd::add(tape, scaled, leaf(RegionParameter::shift));
    const Value whole = gathered(tape, slice);
    const Value partial = autograd::multiply(tape, whole, leaf(RegionParameter::factors));
    const Value sum = tensor_parallel::scatter_sum_sequence(tape, group_, partial);
    return autograd::add(tape, sum, leaf(RegionParameter::bias));
  }

  void sum_gradients() const {
    if (options_.asked != SequenceAsked::region) return;
    std::vector<Parameter*> shared;
    for (const RegionParameter one : summed_parameters) {
      shared.push_back(&of(one));
      if (options_.forgets(one, group_.rank())) of(one).grad = {};
    }
    const std::size_t each = options_.forgotten == Forgotten::alone ? 1 : shared.size();
    for (std::size_t first = 0; first < shared.size(); first += each) {
      tensor_parallel::sum_slice_gradients(group_, std::span(shared).subspan(first, each));
    }
    tensor_parallel::sum_slice_gradients(group_, {});  // nothing to do, and nothing to send
  }

 private:
  Parameter& of(RegionParameter parameter) const {
    return parameters_.at(static_cast<std::size_t>(parameter));
  }
  Value gathered(Tape& tape, const Value& slice) const {
    using tensor_parallel::Kept;
    return tensor_parallel::gather_sequence(tape, group_, slice,
                                            options_.keeps_slice ? Kept::slice : Kept::whole);
  }

  comm::ProcessGroup& group_;
  std::deque<Parameter>& parameters_;
  SequenceOptions options_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_layer(played, [](comm::ProcessGroup& group, std::deque<Parameter>& parameters,
                               const LayerCase& c) {
    const Region region(group, parameters, SequenceOptions::of(c.options));
    return PlayedFunctions{[region](Tape& tape, const Value& x) { return region.forward(tape, x); },
                           [region] { region.sum_gradients(); }};
  });
}

}  // namespace lockstep::grader
