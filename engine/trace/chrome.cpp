#include "engine/trace/chrome.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include "engine/base/text.hpp"
#include "engine/trace/data.hpp"

namespace lockstep::trace {
namespace {

// Slices of one thread must be disjoint or nested; so what overlaps goes to further threads.
constexpr int tracks_max = 1000;
constexpr std::array lanes{"compute", "collectives", "waiting", "sends", "receives"};
constexpr int sends = 3, receives = 4;

struct Slice {
  int rank, lane;
  double start_s, end_s;
  std::string event;  // what follows its place and time
  int track = 0;
};

std::string place_of(const Slice& slice) {
  return text("\"pid\":", slice.rank, ",\"tid\":", slice.lane * tracks_max + slice.track);
}

std::string microseconds(double seconds) { return number(seconds * 1e6); }

// The first track that is free, by time.
void assign_tracks(std::vector<Slice*>& slices) {
  std::sort(slices.begin(), slices.end(),
            [](const Slice* a, const Slice* b) { return a->start_s < b->start_s; });
  std::map<std::pair<int, int>, std::vector<double>> free_at;  // by rank and lane
  for (Slice* slice : slices) {
    auto& tracks = free_at[{slice->rank, slice->lane}];
    const auto is_free = [&](double end) { return end <= slice->start_s; };
    auto found = std::find_if(tracks.begin(), tracks.end(), is_free);
    if (found == tracks.end()) found = tracks.insert(tracks.end(), 0);
    *found = slice->end_s;
    slice->track = static_cast<int>(found - tracks.begin()) % tracks_max;
  }
}

std::string named_event(const std::string& name, const std::string& arguments) {
  return text("\"name\":", json_text(name), ",\"args\":{", arguments, "}");
}

std::vector<Slice> slices_of(const Timeline& timeline) {
  std::vector<Slice> slices;  // spans, then a pair for each message
  for (const Span& span : timeline.spans) {
    slices.push_back({span.rank, static_cast<int>(span.lane), span.start_s, span.end_s,
                      named_event(timeline.names[span.name],
                                  text("\"where\":", json_text(timeline.names[span.where]),
                                       ",\"strand\":", span.strand, ",\"bytes\":", span.bytes))});
  }
  for (const Message& m : timeline.messages) {
    const std::string what =
        text("\"bytes\":", m.bytes, ",\"tag\":", m.tag, ",\"group\":", m.group,
             ",\"depth\":", m.depth, ",\"where\":", json_text(timeline.names[m.where]));
    slices.push_back(
        {m.src, sends, m.start_s, m.sent_s, named_event(text("to rank ", m.dst), what)});
    slices.push_back(
        {m.dst, receives, m.start_s, m.arrived_s, named_event(text("from rank ", m.src), what)});
  }
  std::vector<Slice*> all;
  for (Slice& slice : slices) all.push_back(&slice);
  assign_tracks(all);
  return slices;
}

class Events {
 public:
  explicit Events(std::ostream& out) : out_(out) { out_ << "{\"traceEvents\":["; }
  void add(const std::string& fields) {
    out_ << (first_ ? "\n{" : ",\n{") << fields << "}";
    first_ = false;
  }
  void end() { out_ << "\n],\"displayTimeUnit\":\"ns\"}\n"; }

 private:
  std::ostream& out_;
  bool first_ = true;
};

void name_tracks(Events& events, const std::vector<Slice>& slices, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    events.add(text("\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", rank,
                    ",\"args\":{\"name\":\"rank ", rank, "\"}"));
    events.add(text("\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", rank,
                    ",\"args\":{\"sort_index\":", rank, "}"));
  }
  std::map<std::string, int> lane_by_place;
  for (const Slice& slice : slices) lane_by_place[place_of(slice)] = slice.lane;
  for (const auto& [place, lane] : lane_by_place) {
    events.add(text("\"ph\":\"M\",\"name\":\"thread_name\",", place, ",\"args\":{\"name\":\"",
                    lanes[static_cast<std::size_t>(lane)], "\"}"));
  }
}

// A flow begins and ends in the slice that is there at its time, so its end lies within.
void add_flow(Events& events, const Message& message, const Slice& send, const Slice& receive,
              std::size_t id) {
  const double within = message.start_s + 0.999 * (message.arrived_s - message.start_s);
  events.add(text("\"ph\":\"s\",\"cat\":\"message\",\"name\":\"message\",\"id\":", id, ",",
                  place_of(send), ",\"ts\":", microseconds(message.start_s)));
  events.add(text("\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"message\",\"name\":\"message\",\"id\":", id,
                  ",", place_of(receive), ",\"ts\":", microseconds(within)));
}

}  // namespace

void write_chrome(std::ostream& out, const Timeline& timeline) {
  const std::vector<Slice> slices = slices_of(timeline);
  Events events(out);
  name_tracks(events, slices, timeline.ranks);
  for (const Slice& slice : slices) {
    events.add(text("\"ph\":\"X\",", place_of(slice), ",\"ts\":", microseconds(slice.start_s),
                    ",\"dur\":", microseconds(slice.end_s - slice.start_s), ",", slice.event));
  }
  for (std::size_t i = 0; i < timeline.messages.size(); ++i) {
    const std::size_t at = timeline.spans.size() + 2 * i;
    add_flow(events, timeline.messages[i], slices[at], slices[at + 1], i);
  }
  for (const Series& series : timeline.series) {
    for (const auto& sample : series.samples) {
      events.add(text("\"ph\":\"C\",\"pid\":", series.rank, ",\"ts\":", microseconds(sample.time_s),
                      ",\"name\":", json_text(series.name), ",\"args\":{", json_text(series.unit),
                      ":", number(sample.value), "}"));
    }
  }
  if (timeline.finding) {
    events.add(
        text("\"ph\":\"i\",\"s\":\"g\",\"pid\":0,\"tid\":0,\"ts\":", microseconds(timeline.end_s()),
             ",\"name\":", json_text(timeline.finding->message)));
  }
  events.end();
}

}  // namespace lockstep::trace
