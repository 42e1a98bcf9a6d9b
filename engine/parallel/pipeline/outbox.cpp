#include "engine/parallel/pipeline/outbox.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::pipeline {
namespace {

enum class Direction : std::uint8_t { forward, back };

Direction direction_of(const Action& action) {
  return action.pass == Pass::forward ? Direction::forward : Direction::back;
}

// The place, among its stage's actions, of the pass that makes a parcel or needs it.
std::size_t place_of_pass(const Plan& plan, int part, int micro_batch, Direction direction) {
  const auto& actions = plan.actions[static_cast<std::size_t>(part % plan.stages)];
  const auto at = std::ranges::find_if(actions, [&](const Action& action) {
    return action.chunk == part / plan.stages && action.micro_batch == micro_batch &&
           action.pass != Pass::weight_gradient && direction == direction_of(action);
  });
  return static_cast<std::size_t>(at - actions.begin());
}

// The parcel from a part to the next one in the direction of this action; nothing past either end.
std::optional<Parcel> parcel_between(const Plan& plan, int from, int to, const Action& action) {
  const int parts = plan.chunks * plan.stages;
  const bool inside = std::min(from, to) >= 0 && std::max(from, to) < parts;
  if (!inside || action.pass == Pass::weight_gradient) return std::nullopt;
  const Direction direction = direction_of(action);
  const int tag =
      2 * (action.micro_batch * parts + from) + (direction == Direction::forward ? 0 : 1);
  return Parcel{from % plan.stages, to % plan.stages, tag,
                place_of_pass(plan, from, action.micro_batch, direction),
                place_of_pass(plan, to, action.micro_batch, direction)};
}

int step_of(const Action& action) { return direction_of(action) == Direction::forward ? 1 : -1; }

}  // namespace

std::optional<Parcel> needed_by(const Plan& plan, int stage, const Action& action) {
  const int part = action.chunk * plan.stages + stage;
  return parcel_between(plan, part - step_of(action), part, action);
}

std::optional<Parcel> made_by(const Plan& plan, int stage, const Action& action) {
  const int part = action.chunk * plan.stages + stage;
  return parcel_between(plan, part, part + step_of(action), action);
}

void Outbox::send(const Parcel& parcel, Tensor made) {
  comm::Work work = stages_.isend(made, parcel.dst, parcel.tag);
  sent_.push_back({parcel, std::move(made), std::move(work)});
}

void Outbox::came(const Parcel& parcel) {
  std::erase_if(sent_, [&](Sent& sent) {
    if (sent.parcel.dst != parcel.src || sent.parcel.needed_at > parcel.made_at) return false;
    sent.work.wait();
    return true;
  });
}

void Outbox::finish() {
  for (Sent& sent : sent_) sent.work.wait();
  sent_.clear();
}

}  // namespace lockstep::pipeline
