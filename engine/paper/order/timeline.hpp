// Which operation comes before which, by CUDA's rules. A track is a stream, or the host. Each
// operation gets a vector clock when the host asks for it, and from then on its place is fixed:
// the schedule may carry out whatever these clocks allow, and memory asks them who raced.
//
//     begin(stream, "softmax_rows")  an operation of a stream, after all earlier ones of it
//     now(stream)                    what an event that is recorded now stands for
//     wait(stream, clock)            later operations of the stream come after that
//     host_learns(clock)             a wait of the host has returned: whatever is asked for
//                                    later, of any stream, comes after that
//
// Invariants
//   1. An operation comes after all earlier ones of its track, and after everything that the host
//      had waited for when it asked for it.
//   2. The legacy default stream of a device and its blocking streams: what is asked of the one
//      comes after all that was asked of the others before. A stream made with
//      cudaStreamNonBlocking stands outside of this rule.
//   3. All threads of the host count as one: their own order is not seen from here, so a race that
//      only their missing lock explains is not found.
//
// Source  [CUDA] "Implicit Synchronization", "Stream synchronization behavior"
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/paper/memory/memory.hpp"
#include "engine/paper/order/clock.hpp"

namespace lockstep::paper {

enum class TrackKind { host, legacy, blocking, non_blocking };

class StreamTimeline final : public Ordering {
 public:
  static constexpr Track host = 0;

  StreamTimeline();

  Track add(TrackKind kind, int device, std::string name);
  Operation begin(Track track, std::string_view name);
  Clock now(Track track);
  void wait(Track track, const Clock& clock);
  void host_learns(const Clock& clock);

  // An operation of the host itself, such as cudaFree: it comes after what the host has waited for.
  Operation begin_on_host(std::string_view name) { return begin(host, name); }

  bool host_knows(Operation operation) const;
  Track track_of(Operation operation) const { return at(operation).track; }
  std::uint32_t index_of(Operation operation) const { return at(operation).index; }
  const Clock& clock_of(Operation operation) const;  // of one that the host has not waited for yet
  Operation last() const { return static_cast<Operation>(records_.size()); }
  const std::string& name_of(Operation operation) const { return names_[at(operation).name]; }
  const std::string& name_of_track(Track track) const { return tracks_[track].name; }
  int device_of(Track track) const { return tracks_[track].device; }
  std::size_t clocks_kept() const { return clocks_.size(); }
  Track tracks() const { return static_cast<Track>(tracks_.size()); }

  bool before(Operation earlier, Operation later) const override;
  std::string describe(Operation operation) const override;  // "softmax_rows (#3 of stream 1)"

 private:
  struct TrackState {
    TrackKind kind;
    int device;
    std::string name;
    Clock clock;              // of its last operation and of what later ones wait for
    std::uint32_t count = 0;  // its operations
  };
  struct Record {
    Track track;
    std::uint32_t index;  // 1 is the first of its track
    std::uint32_t name;
  };

  const Record& at(Operation operation) const { return records_.at(operation - 1); }
  void act(Track track);  // the rule of the legacy stream, at whatever is asked of `track`
  void settle();
  std::uint32_t number_of(std::string_view name);

  std::vector<TrackState> tracks_;
  Clock host_;
  std::vector<Record> records_;
  // The clocks of operations after settled_. The host has waited for all up to that one: they have
  // run, so nobody asks any more what was before them, and later ones count them in their own
  // clocks.
  std::deque<Clock> clocks_;
  Operation settled_ = 0;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

}  // namespace lockstep::paper
