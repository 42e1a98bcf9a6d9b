#include "engine/train/choice.hpp"

#include "engine/base/error.hpp"

namespace lockstep::train {
namespace {

struct WayRow {
  Slot slot;
  std::string_view name;
};

constexpr std::array<WayRow, ways> way_rows{{
    {Slot::layers, "dense layers"},
    {Slot::layers, "tensor parallelism"},
    {Slot::layers, "sequence parallelism"},
    {Slot::layers, "expert parallelism"},
    {Slot::execution, "the whole model on each rank"},
    {Slot::execution, "pipeline parallelism"},
    {Slot::execution, "parameter servers"},
    {Slot::reduction, "the plain reduction"},
    {Slot::reduction, "DDP"},
    {Slot::reduction, "Horovod"},
    {Slot::reduction, "ZeRO 1"},
    {Slot::reduction, "ZeRO 2"},
    {Slot::reduction, "ZeRO 3"},
    {Slot::reduction, "FSDP"},
    {Slot::hook, "no communication hook"},
    {Slot::hook, "compression"},
    {Slot::saving, "dense checkpoints"},
    {Slot::saving, "sharded checkpoints"},
}};

struct Conflict {
  Way one, other;
  std::string_view why;
};

constexpr std::string_view shares_nothing =
    "a server keeps whole tensors and takes the gradients of whole replicas";
constexpr std::string_view reduces_nothing =
    "workers push gradients to servers, and reduce nothing among themselves";
constexpr std::string_view takes_whole_steps =
    "the plain step runs a whole model forward and backward by itself; pass ddp";
constexpr std::string_view averages_all =
    "Horovod averages every parameter over all ranks, but these ranks hold different ones";
constexpr std::string_view is_of_buckets = "a communication hook belongs to the buckets of DDP";
// DeepSpeed refuses the pair, too: deepspeed/runtime/pipe/engine.py, PipelineEngine.__init__.
constexpr std::string_view sums_in_place =
    "stages add up gradients over micro-batches in place, and those of ZeRO 2 and 3 are scattered "
    "after each";
constexpr std::string_view has_no_shards =
    "each rank holds all of the state, so there are no shards";

constexpr Conflict conflicts[]{
    {Way::tensor, Way::servers, shares_nothing},
    {Way::sequence, Way::servers, shares_nothing},
    {Way::expert, Way::servers, shares_nothing},
    {Way::servers, Way::ddp, reduces_nothing},
    {Way::servers, Way::horovod, reduces_nothing},
    {Way::servers, Way::zero_1, reduces_nothing},
    {Way::servers, Way::zero_2, reduces_nothing},
    {Way::servers, Way::zero_3, reduces_nothing},
    {Way::servers, Way::fsdp, reduces_nothing},
    {Way::tensor, Way::plain, takes_whole_steps},
    {Way::sequence, Way::plain, takes_whole_steps},
    {Way::expert, Way::plain, takes_whole_steps},
    {Way::pipeline, Way::plain, takes_whole_steps},
    {Way::tensor, Way::horovod, averages_all},
    {Way::expert, Way::horovod, averages_all},
    {Way::pipeline, Way::horovod, averages_all},
    {Way::pipeline, Way::zero_2, sums_in_place},
    {Way::pipeline, Way::zero_3, sums_in_place},
    {Way::plain, Way::compression, is_of_buckets},
    {Way::horovod, Way::compression, is_of_buckets},
    {Way::zero_1, Way::compression, is_of_buckets},
    {Way::zero_2, Way::compression, is_of_buckets},
    {Way::zero_3, Way::compression, is_of_buckets},
    {Way::fsdp, Way::compression, is_of_buckets},
    {Way::plain, Way::sharded_saving, has_no_shards},
    {Way::horovod, Way::sharded_saving, has_no_shards},
};

}  // namespace

std::string_view name_of(Way way) { return way_rows[static_cast<std::size_t>(way)].name; }
Slot slot_of(Way way) { return way_rows[static_cast<std::size_t>(way)].slot; }

std::optional<std::string_view> conflict_of(Way one, Way other) {
  for (const Conflict& conflict : conflicts) {
    if ((conflict.one == one && conflict.other == other) ||
        (conflict.one == other && conflict.other == one)) {
      return conflict.why;
    }
  }
  return std::nullopt;
}

void check(const Choice& choice) {
  const auto all = choice.all();
  for (std::size_t i = 0; i < slots; ++i) {
    LOCKSTEP_CHECK(slot_of(all[i]) == static_cast<Slot>(i), name_of(all[i]),
                   " stands in the slot of another choice");
    for (std::size_t j = 0; j < i; ++j) {
      const auto why = conflict_of(all[j], all[i]);
      if (why) {
        throw UsageError(
            text(name_of(all[j]), " and ", name_of(all[i]), " do not combine: ", *why));
      }
    }
  }
}

}  // namespace lockstep::train
