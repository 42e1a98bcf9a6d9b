// Drawing the next operation.
#include "engine/paper/order/schedule.hpp"

#include <utility>

namespace lockstep::paper {

void Schedule::add(Work work) {
  const Track track = timeline_.track_of(work.operation);
  if (track >= queues_.size()) queues_.resize(track + 1);
  queues_[track].push_back(std::move(work));
  ++waiting_;
  // The host would stand still here until the GPU has taken some; it learns nothing from that.
  while (queues_[track].size() > depth && run_one({}, Among::all)) {
  }
}

bool Schedule::finished(const Clock& clock) const {
  for (Track track = 1; track < timeline_.tracks();
       ++track) {  // what the host asks of itself is done
    if (clock[track] > done_[track]) return false;
  }
  return true;
}

bool Schedule::may_run(const Work& work) const {
  const Track own = timeline_.track_of(work.operation);
  const Clock& clock = timeline_.clock_of(work.operation);
  for (Track track = 1; track < timeline_.tracks(); ++track) {
    const std::uint32_t needed = clock[track] - (track == own ? 1 : 0);
    if (clock[track] != 0 && needed > done_[track]) return false;
  }
  return true;
}

bool Schedule::run_one(const Clock& clock, Among among) {
  std::vector<Track> ready;
  for (Track track = 0; track < queues_.size(); ++track) {
    if (queues_[track].empty()) continue;
    const Work& head = queues_[track].front();
    if (among == Among::counted && clock[track] <= done_[track]) continue;
    if (may_run(head)) ready.push_back(track);
  }
  if (ready.empty()) return false;
  const Track track = ready[draw(ready.size())];
  Work work = std::move(queues_[track].front());
  queues_[track].pop_front();
  --waiting_;
  const std::uint32_t index = timeline_.index_of(work.operation);
  work.run();
  if (done_[track] < index) done_.set(track, index);
  return true;
}

void Schedule::run_until(const Clock& clock) {
  const std::size_t others =
      draw(3);  // how often the others may go first: never, now and then, ever
  while (!finished(clock)) {
    const bool all = others == 2 || (others == 1 && draw(2) == 0);
    if (!run_one(clock, all ? Among::all : Among::counted)) return;
  }
}

bool Schedule::step_towards(const Clock& clock) {
  if (!finished(clock)) run_one(clock, Among::counted);
  return finished(clock);
}

void Schedule::drop(int device) {
  for (Track track = 0; track < queues_.size(); ++track) {
    if (timeline_.device_of(track) != device || queues_[track].empty()) continue;
    done_.set(track, timeline_.index_of(queues_[track].back().operation));
    waiting_ -= queues_[track].size();
    queues_[track].clear();
  }
}

std::size_t Schedule::draw(std::size_t count) {
  // Not a distribution of <random>: theirs differ between libraries, and a seed should not.
  return count < 2 ? 0 : static_cast<std::size_t>((random_() >> 11) % count);
}

}  // namespace lockstep::paper
