// A shard is small, but a pass needs all of them: gathered twice and reduced once, the parameters
// travel three times, where an all-reduce moves them twice. All travels in one type here; if
// gradients are float32 and gathered weights have 16 bits, both send as much.
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/zero/sharded_units.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;
using zero::Sharding;

namespace {

// Bytes that rank 0 sends in a step of a small GPT.
std::int64_t bytes_sent(Sharding sharding, int ranks) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.gpt = {.layers = 12, .width = 32, .heads = 2, .sequence = 8, .vocabulary = 16};
  std::int64_t sent = 0;
  myth::on_ranks(ranks, [&](comm::ProcessGroup& group, Device& device) {
    const auto alone = group.split(group.rank(), 0);
    const bool whole = sharding == Sharding::no_shard;
    const zero::ShardGroups groups{whole ? *alone : group, whole ? &group : nullptr};
    zero::ShardedUnits units(spec, 0, device, groups, {.sharding = sharding});
    const Tensor tokens = zeros({1, 8}, DType::int64, device);
    units.zero_grad();
    units.begin(zero::Reduces::yes);
    Tape tape(GradMode::record);
    const Value logits = units.model().forward(tape, tape.constant(tokens));
    tape.backward(autograd::cross_entropy(tape, logits, tokens));
    units.end_backward();
    units.end_update();
    if (group.rank() == 0) sent = group.traffic().bytes_sent;
  });
  return sent;
}

}  // namespace

int main() {
  myth::claim("FSDP shards the model to send less than DDP.");
  bool more = true;
  for (const int ranks : {2, 4, 8}) {
    const double times = static_cast<double>(bytes_sent(Sharding::full_shard, ranks)) /
                         static_cast<double>(bytes_sent(Sharding::no_shard, ranks));
    std::cout << ranks << " ranks: FULL_SHARD sends " << times << " times what NO_SHARD sends\n";
    more = more && times > 1.3;
  }
  return myth::refuted_if(more,
                          "It saves memory and, in one type, sends half as many bytes again.");
}
