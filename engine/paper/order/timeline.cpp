// The clocks of operations.
#include "engine/paper/order/timeline.hpp"

#include <utility>

namespace lockstep::paper {

StreamTimeline::StreamTimeline() { add(TrackKind::host, -1, "the host"); }

Track StreamTimeline::add(TrackKind kind, int device, std::string name) {
  tracks_.push_back({kind, device, std::move(name), host_});
  return tracks() - 1;
}

void StreamTimeline::act(Track track) {
  TrackState& self = tracks_[track];
  if (self.kind != TrackKind::legacy && self.kind != TrackKind::blocking) return;
  for (const TrackState& other : tracks_) {
    if (other.device != self.device) continue;
    const bool pair = (self.kind == TrackKind::legacy && other.kind == TrackKind::blocking) ||
                      (self.kind == TrackKind::blocking && other.kind == TrackKind::legacy);
    if (pair) self.clock.join(other.clock);
  }
}

Operation StreamTimeline::begin(Track track, std::string_view name) {
  act(track);
  TrackState& self = tracks_[track];
  self.clock.join(host_);
  self.clock.set(track, ++self.count);
  records_.push_back({track, self.count, number_of(name)});
  clocks_.push_back(self.clock);
  if (track == host) {  // done as soon as it is asked for
    host_.set(host, self.count);
    settle();
  }
  return last();
}

Clock StreamTimeline::now(Track track) {
  act(track);
  return tracks_[track].clock;
}

void StreamTimeline::wait(Track track, const Clock& clock) {
  act(track);
  tracks_[track].clock.join(clock);
}

void StreamTimeline::host_learns(const Clock& clock) {
  host_.join(clock);
  settle();
}

bool StreamTimeline::host_knows(Operation operation) const {
  const Record& record = at(operation);
  return record.index <= host_[record.track];
}

const Clock& StreamTimeline::clock_of(Operation operation) const {
  return clocks_.at(operation - settled_ - 1);
}

bool StreamTimeline::before(Operation earlier, Operation later) const {
  if (earlier == 0 || later == 0) return earlier == 0;
  if (later <= settled_) return earlier < later;
  const Record& record = at(earlier);
  return earlier < later && clock_of(later)[record.track] >= record.index;
}

std::string StreamTimeline::describe(Operation operation) const {
  if (operation == 0 || operation > last()) return "nothing";
  const Record& record = at(operation);
  return names_[record.name] + " (#" + std::to_string(record.index) + " of " +
         tracks_[record.track].name + ")";
}

void StreamTimeline::settle() {
  while (!clocks_.empty() && host_knows(settled_ + 1)) {
    clocks_.pop_front();
    ++settled_;
  }
}

std::uint32_t StreamTimeline::number_of(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  names_.emplace_back(name);
  const auto number = static_cast<std::uint32_t>(names_.size() - 1);
  numbers_.emplace(name, number);
  return number;
}

}  // namespace lockstep::paper
