// Drawing the next operation.
#include "engine/paper/order/schedule.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace lockstep::paper {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void Schedule::add(Work work) {
  if (keeps_history_) work.asked_s = seconds();
  const Track track = timeline_.track_of(work.operation);
  if (track >= queues_.size()) queues_.resize(track + 1);
  queues_[track].push_back(std::move(work));
  ++waiting_;
  // The host would stand still here until the GPU has taken some; it learns nothing from that.
  for (unsigned turns = 0; queues_[track].size() > depth;) {
    const Ran ran = run_one({}, Among::all);
    if (ran == Ran::none) return;
    if (ran == Ran::waits) idle_(turns++);
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

// Runs the first operation of the queue, or one step of it. What runs may drop the queue.
Progress Schedule::run_head(Track track) {
  const Operation operation = queues_[track].front().operation;
  if (double& began_s = queues_[track].front().began_s; keeps_history_ && began_s == 0) {
    began_s = seconds();
  }
  if (const auto step = queues_[track].front().step) {
    if (step() == Progress::waits) return Progress::waits;
    if (queues_[track].empty() || queues_[track].front().operation != operation) {
      return Progress::done;
    }
  }
  const Work work = std::move(queues_[track].front());
  queues_[track].pop_front();
  --waiting_;
  const std::uint32_t index = timeline_.index_of(operation);
  if (work.run) work.run();
  if (done_[track] < index) done_.set(track, index);
  if (keeps_history_) history_.push_back({operation, work.asked_s, work.began_s, seconds()});
  return Progress::done;
}

Schedule::Ran Schedule::run_one(const Clock& clock, Among among) {
  std::vector<Track> ready;
  for (Track track = 0; track < queues_.size(); ++track) {
    if (queues_[track].empty()) continue;
    const Work& head = queues_[track].front();
    if (among == Among::counted && clock[track] <= done_[track]) continue;
    if (may_run(head)) ready.push_back(track);
  }
  if (ready.empty()) return Ran::none;
  while (!ready.empty()) {
    const std::size_t drawn = draw(ready.size());
    if (run_head(ready[drawn]) == Progress::done) return Ran::one;
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(drawn));
  }
  return Ran::waits;
}

void Schedule::run_until(const Clock& clock) {
  const std::size_t others =
      draw(3);  // how often the others may go first: never, now and then, ever
  for (unsigned turns = 0; !finished(clock);) {
    const bool all = others == 2 || (others == 1 && draw(2) == 0);
    Ran ran = run_one(clock, all ? Among::all : Among::counted);
    // Another process may wait for one of the others, before it comes to what is waited for here.
    if (ran == Ran::waits && !all) ran = run_one(clock, Among::all);
    if (ran == Ran::none) return;
    if (ran == Ran::waits) {
      idle_(turns++);
    } else {
      turns = 0;
    }
  }
}

void Schedule::run_wanted() {
  std::vector<Operation> operations;
  for (const auto& queue : queues_) {
    const auto found =
        std::ranges::find_if(queue, [](const Work& work) { return work.wanted && work.wanted(); });
    if (found != queue.end()) operations.push_back(found->operation);
  }
  for (const Operation operation : operations) {
    const Track track = timeline_.track_of(operation);
    while (timeline_.index_of(operation) > done_[track]) {
      const Clock clock = timeline_.clock_of(operation);
      if (run_one(clock, Among::counted) != Ran::one) break;
    }
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
