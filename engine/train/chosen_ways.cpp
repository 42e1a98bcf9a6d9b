#include "engine/train/chosen_ways.hpp"

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/train/strategies/unheard_group.hpp"

namespace lockstep::train {

ChosenWays::ChosenWays(const Arguments& arguments, std::span<const Way> ways)
    : ways_(ways), ranks_of_axes_(train::ranks_of_axes(arguments, ways)) {
  for (const Way* way : ways_of(arguments, ways)) {
    const WayMaker* maker = find_maker(way->stem);
    if (maker == nullptr) throw UsageError(text(way->name, " is not built into this program"));
    LOCKSTEP_CHECK(way->slot != Slot::axis || layers_ == nullptr, way->name,
                   " and another axis both make the layers of a model; one maker has to know both");
    (way->slot == Slot::hook ? hook_ : way->slot == Slot::axis ? layers_ : trainer_) = maker;
  }
}

void ChosenWays::check(const Arguments& arguments, const nn::ModelSpec& model, int ranks) const {
  const int layer_copies = ranks_without_axes(ranks);
  trainer_->check(arguments, model, layer_copies);
  for (const WayMaker* other : {hook_, layers_}) {
    if (other != nullptr) other->check(arguments, model, layer_copies);
  }
}

int ChosenWays::shares(const Arguments& arguments, int ranks) const {
  return trainer_->shares(arguments, ranks_without_axes(ranks));
}

int ChosenWays::ranks_without_axes(int ranks) const {
  if (ranks % ranks_of_axes_ != 0) {
    throw UsageError(text(counted(ranks, "rank"), " cannot be cut into groups of ", ranks_of_axes_,
                          ", which share each layer; pass --ranks ",
                          (ranks + ranks_of_axes_ - 1) / ranks_of_axes_ * ranks_of_axes_));
  }
  return ranks / static_cast<int>(ranks_of_axes_);
}

void ChosenWays::check_memory(const Arguments& arguments, Recipe recipe,
                              std::span<const std::int64_t> batches, const DeviceRoom& room) const {
  // Rank 0 of a layer holds as much as any: what a vocabulary is padded with is at the end.
  Unheard layer(static_cast<int>(ranks_of_axes_));
  if (layers_ != nullptr) recipe.model.layers = layers_->make_layers(arguments, layer);
  trainer_->check_memory(arguments, recipe, batches, room);
}

std::string ChosenWays::note(const Arguments& arguments, const nn::ModelSpec& model) const {
  return trainer_->note(arguments, model) +
         (layers_ != nullptr ? layers_->note(arguments, model) : "");
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
  if (layers_ != nullptr) making.recipe.model.layers = layers_->make_layers(making);
  if (hook_ != nullptr) making.hook = hook_->make_hook(making.arguments, making.recipe.seed);
  auto strategy = trainer_->make(making);
  LOCKSTEP_CHECK(making.hook == nullptr, "the way that trains left a communication hook where it ",
                 "is; declare that it refuses the way that makes the hook");
  return strategy;
}

}  // namespace lockstep::train
