// What a run chooses: one way in each slot. Which ways combine is one table; two that do not are
// one sentence.
//
//   layers      how one layer is computed     dense tensor sequence expert
//   execution   who runs which units          whole_model pipeline servers
//   reduction   how gradients become one      plain ddp horovod zero_1 zero_2 zero_3 fsdp
//   hook        what a bucket goes through    no_hook compression
//   saving      how a checkpoint is written   dense_saving sharded_saving
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::train {

enum class Way : std::uint8_t {
  dense,
  tensor,
  sequence,
  expert,
  whole_model,
  pipeline,
  servers,
  plain,
  ddp,
  horovod,
  zero_1,
  zero_2,
  zero_3,
  fsdp,
  no_hook,
  compression,
  dense_saving,
  sharded_saving,
};
enum class Slot : std::uint8_t { layers, execution, reduction, hook, saving };

constexpr std::size_t ways = static_cast<std::size_t>(Way::sharded_saving) + 1;
constexpr std::size_t slots = 5;

std::string_view name_of(Way way);  // "tensor parallelism", "DDP"
Slot slot_of(Way way);

// One way a slot; what nobody chose is what a run on one device does.
struct Choice {
  Way layers = Way::dense;
  Way execution = Way::whole_model;
  Way reduction = Way::ddp;
  Way hook = Way::no_hook;
  Way saving = Way::dense_saving;
  std::array<Way, slots> all() const { return {layers, execution, reduction, hook, saving}; }
};

// Why two ways do not combine; nothing where they do.
std::optional<std::string_view> conflict_of(Way one, Way other);

//   Throws  ContractError when a way stands in another's slot; UsageError with both names and the
//           reason when two of them do not combine
void check(const Choice& choice);

}  // namespace lockstep::train
