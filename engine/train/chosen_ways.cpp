#include "engine/train/chosen_ways.hpp"

#include <string>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/train/strategies/unheard_group.hpp"

namespace lockstep::train {

ChosenWays::ChosenWays(const Arguments& arguments, std::span<const Way> ways)
    : ways_(ways), ranks_of_axes_(train::ranks_of_axes(arguments, ways)) {
  for (const Way* way : ways_of(arguments, ways)) {
    const WayMaker* maker = find_maker(way->stem);
    if (maker == nullptr) throw UsageError(text(way->name, " is not built into this program"));
    if (way->slot == Slot::axis) {
      layers_.push_back({*way->axis, maker});
    } else {
      (way->slot == Slot::hook ? hook_ : trainer_) = maker;
    }
  }
}

void ChosenWays::check(const Arguments& arguments, const nn::ModelSpec& model, int ranks) const {
  // First what no number of ranks mends; a number is advised only where there is one.
  const auto copies = static_cast<int>(ranks / ranks_of_axes_);
  for (const OfAxis& way : layers_) way.maker->check(arguments, model, copies);
  ranks_without_axes(ranks);
  trainer_->check(arguments, model, copies);
  if (hook_ != nullptr) hook_->check(arguments, model, copies);
}

// Ranks that share experts read other samples.
int ChosenWays::shares(const Arguments& arguments, int ranks) const {
  const mesh::AxisSizes sizes = axes_of(arguments, ways_, ranks);
  const int shares = trainer_->shares(arguments, ranks_without_axes(ranks) * sizes.ep);
  const bool typed = arguments.declared("dp") && arguments.given("dp");
  if (!typed || arguments.integer("dp", 1) == sizes.dp) return shares;
  std::string others;
  for (const Way& way : ways_) {
    if (way.axis && sizes[*way.axis] > 1) {
      others += text(" and --", way.option, " ", sizes[*way.axis]);
    }
  }
  throw UsageError(text("--dp ", arguments.get("dp"), " disagrees with --ranks ", ranks, others,
                        ", which leave ", sizes.dp, " for it; leave --dp out, or --ranks"));
}

int ChosenWays::ranks_without_axes(int ranks) const {
  if (ranks % ranks_of_axes_ != 0) {
    throw UsageError(text(counted(ranks, "rank"), " cannot be cut into groups of ", ranks_of_axes_,
                          ", which share layers; pass --ranks ",
                          (ranks + ranks_of_axes_ - 1) / ranks_of_axes_ * ranks_of_axes_));
  }
  return ranks / static_cast<int>(ranks_of_axes_);
}

void ChosenWays::check_memory(const Arguments& arguments, Recipe recipe,
                              std::span<const std::int64_t> batches, const DeviceRoom& room) const {
  // Rank 0 of a layer holds as much as any: what a vocabulary is padded with is at the end.
  const mesh::AxisSizes sizes = axes_of(arguments, ways_, static_cast<int>(ranks_of_axes_));
  std::vector<std::unique_ptr<Unheard>> groups;
  WayMaker::Layers layers;
  for (const OfAxis& way : layers_) {
    groups.push_back(std::make_unique<Unheard>(sizes[way.axis]));
    layers = way.maker->make_layers(arguments, recipe.model, *groups.back(), layers);
  }
  recipe.model.layers = layers;
  trainer_->check_memory(arguments, recipe, batches, room);
}

std::string ChosenWays::note(const Arguments& arguments, const nn::ModelSpec& model) const {
  std::string all = trainer_->note(arguments, model);
  for (const OfAxis& way : layers_) all += way.maker->note(arguments, model);
  return all;
}

std::string ChosenWays::compression(const Arguments& arguments) const {
  return hook_ != nullptr ? hook_->compression(arguments) : trainer_->compression(arguments);
}

std::string ChosenWays::note_on_resume(const Arguments& arguments) const {
  return trainer_->note_on_resume(arguments) +
         (hook_ != nullptr ? hook_->note_on_resume(arguments) : "");
}

std::unique_ptr<Strategy> ChosenWays::make(Making& making) const {
  shares(making.arguments, making.group.size());  // throws where the axes do not divide the ranks
  making.axes = axes_of(making.arguments, ways_, making.group.size());
  making.trainer = trainer_;
  WayMaker::Layers layers;
  for (const OfAxis& way : layers_) layers = way.maker->make_layers(making, std::move(layers));
  making.recipe.model.layers = std::move(layers);
  if (hook_ != nullptr) making.hook = hook_->make_hook(making.arguments, making.recipe.seed);
  auto strategy = trainer_->make(making);
  LOCKSTEP_CHECK(making.hook == nullptr, "the way that trains left a communication hook where it ",
                 "is; declare that it refuses the way that makes the hook");
  return strategy;
}

}  // namespace lockstep::train
