// The maker of a way: how its strategy is made of a command line, and what the program asks of a
// way beside that. The declaration of a way is light (way.hpp); its maker has the rooms.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/strand/strand.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/run_arguments.hpp"
#include "engine/train/way.hpp"

namespace lockstep::train {

// The arguments of a strategy besides its options. Group, device and strands must outlive it.
struct Making {
  const Arguments& arguments;
  comm::ProcessGroup& group;
  Device& device;
  Recipe recipe;
  Strands* strands = nullptr;        // of this rank, for what runs beside the training
  const HostMemory* host = nullptr;  // of this rank; a way that needs one makes its own otherwise
  double clip_norm = 0;              // bound on the averaged gradient's global norm; 0: none
  int ranks_per_node = 0;            // 0: all are on one
  WatchHook watch{};                 // of buckets that travel; nobody watches where it is empty
  collectives::WatchWork watch_collectives{};  // of shards, likewise
  // A sentence for the person who watches, at once; also from a strand beside the training.
  std::function<void(const std::string&)> tell{};
  // Called once, on a rank that the others do without from then on.
  std::function<void()> on_spare{};
  // The hook of the way in the slot hook; a way that has buckets takes it.
  std::unique_ptr<collectives::CommHook> hook{};
  // The sizes of the axes of the run; without them, every rank of the group is on dp.
  std::optional<mesh::AxisSizes> axes{};
  const class WayMaker* trainer = nullptr;  // of the way that trains

  std::optional<TrainingRanks> placed{};  // what ranks() made

  // The group on these axes. The first call splits it, on every rank.
  const TrainingRanks& ranks();
};

// The memory of a rank's device and of its node's host, and how many such devices a node has.
struct DeviceRoom {
  std::string_view name;
  std::int64_t bytes = 0;
  int ranks_per_node = 0;                               // 0: all are on one
  std::function<std::int64_t(int ranks)> host_bytes{};  // a rank's share; empty: nothing is known
};

// How ranks wait for each other: in each step for the slowest; as stages of one step; not at all.
enum class Pace : std::uint8_t { together, staged, apart };

class WayMaker {
 public:
  virtual ~WayMaker() = default;

  // A way that trains. Every rank of the world calls it, with equal arguments.
  //   Throws  UsageError as check; what the strategy's own function throws (strategies/)
  virtual std::unique_ptr<Strategy> make(Making& making) const;
  // A way in the slot hook.
  //   seed  of what is drawn; of the run, so the same on every rank
  virtual std::unique_ptr<collectives::CommHook> make_hook(const Arguments& arguments,
                                                           std::uint64_t seed) const;

  // A way in the slot axis: the maker of the layers that its ranks compute together.
  //   inner  of the axes that are declared before; none: there is none of them. Layers of several
  //          axes are made by the last maker, which knows the one before
  using Layers = std::shared_ptr<nn::LayerMaker>;
  virtual Layers make_layers(Making& making, Layers inner) const;
  // The same on a group along the axis that is given, which must outlive the layers.
  virtual Layers make_layers(const Arguments& arguments, const nn::ModelSpec& model,
                             comm::ProcessGroup& group, Layers inner) const;

  // Throws once, before any rank is started, what each rank would throw.
  //   Throws  UsageError
  virtual void check(const Arguments&, const nn::ModelSpec&, int /*ranks*/) const {}
  // Shares of a global batch (strategy.hpp) that `ranks` read.
  //   Throws  UsageError when the way cannot have that many
  virtual int shares(const Arguments&, int ranks) const { return ranks; }
  // Batches per rank in one optimizer step, at most.
  virtual std::int64_t accumulate(const Arguments& arguments) const {
    return arguments.integer("accumulate", 1);
  }
  // The parts of a batch that pass through the layers one after the other.
  virtual std::int64_t micro_batches(const Arguments&) const { return 1; }
  virtual Deal deal(const Arguments&) const { return Deal::padded; }
  virtual Pace pace() const { return Pace::together; }
  // When gradients travel: "during backward".
  virtual std::string_view reduction() const { return "during backward"; }
  // The form in which gradients travel: "topk:0.01".
  virtual std::string compression(const Arguments&) const { return "none"; }
  // A sentence for the start of a run, and one for the start of a run that goes on; mostly empty.
  virtual std::string note(const Arguments&, const nn::ModelSpec&) const { return ""; }
  virtual std::string note_on_resume(const Arguments&) const { return ""; }
  // Checks that the ranks' memory suffices, if that is known before the first step.
  //   recipe   where several ranks compute a layer together, its maker makes a rank's share
  //   batches  the samples of each size of batch that the run has
  //   Throws   UsageError with what is missing
  virtual void check_memory(const Arguments&, const Recipe&,
                            std::span<const std::int64_t> /*batches*/, const DeviceRoom&) const {}
};

}  // namespace lockstep::train
