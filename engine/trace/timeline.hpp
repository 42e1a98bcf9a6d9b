// A timeline: what happened in a run, and when, as a value that is drawn, summed up and compared.
//
// A rank computes, communicates and waits; each of these is a lane of its own, because they
// overlap, and how much they do is what one wants to see. Messages join the lanes of two ranks;
// series are figures over time (memory, bytes). A run that went wrong also has a finding: who
// waited for whom.
//
// Times are seconds from the beginning, of the simulator's clock or of the wall's. What a timeline
// says is a function of what was added and not of the order in which it was: see ordered().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lockstep::trace {

enum class Lane : std::uint8_t { compute, communication, waiting };
enum class Clock : std::uint8_t { virtual_time, wall };

using Name = std::uint32_t;  // a place in Timeline::names

struct Span {
  int rank = 0;
  int strand = 0;
  Lane lane = Lane::compute;
  Name name = 0;   // "forward", "recv from rank 3"
  Name where = 0;  // "work/ring.cpp:21", or ""
  double start_s = 0, end_s = 0;
  std::int64_t bytes = 0;  // of what is communicated or waited for
  int depth = 0;           // waiting: of the message that was received
  auto operator<=>(const Span&) const = default;
};

struct Message {
  int src = 0, dst = 0;
  int tag = 0;
  std::uint32_t group = 0;
  std::int64_t bytes = 0;
  int depth = 0;   // length of the chain of causally dependent messages that ends here
  Name label = 0;  // "isend"
  Name where = 0;  // the sender's line
  double start_s = 0, sent_s = 0, arrived_s = 0;  // from start to sent it takes the sender's port
  auto operator<=>(const Message&) const = default;
};

// A figure of one rank over time. A value holds until the next one.
struct Series {
  std::string name, unit;  // "memory", "bytes"
  int rank = 0;
  struct Sample {
    double time_s = 0, value = 0;
    auto operator<=>(const Sample&) const = default;
  };
  std::vector<Sample> samples;
  auto operator<=>(const Series&) const = default;
};

// A strand that could not go on when the run ended.
struct Waiting {
  int rank = 0, strand = 0;
  std::string who;             // "rank 2", "rank 2 (strand 'loader 0')"
  std::string operation;       // "recv from rank 3"
  std::string details;         // "12 bytes, tag 2", or ""
  std::string where;           // "work/ring.cpp:21", or ""
  std::vector<int> waits_for;  // ranks
  double since_s = 0;
  bool operator==(const Waiting&) const = default;
};

// A finding about a run that went wrong. `ranks` are those involved; of a deadlock, the cycle in
// order.
struct Finding {
  std::string verdict, message, where;
  std::vector<int> ranks;
  std::vector<Waiting> waiting;
  bool operator==(const Finding&) const = default;
};

struct Timeline {
  std::string title = "a run";
  Clock clock = Clock::virtual_time;
  int ranks = 0;
  std::vector<std::pair<std::string, std::string>> facts;  // "program": "ring_all_reduce"
  std::vector<std::string> names{""};
  std::vector<Span> spans;
  std::vector<Message> messages;
  std::vector<Series> series;
  std::optional<Finding> finding;

  // More than a page can show: what comes after these many spans and messages is only counted.
  std::size_t events_max = 400'000;
  std::int64_t left_out = 0;

  // The place of a name, which is written once however often it is used.
  Name named(const std::string& name);
  // Spans without duration are not kept: nothing of them could be seen.
  void add(Span span);
  void add(Message message);
  void sample(const std::string& name, const std::string& unit, int rank, double time_s,
              double value);

  // When the last thing was over.
  double end_s() const;

 private:
  bool has_room();
  std::unordered_map<std::string, Name> places_;
};

// The same with everything in the order of rank and time, and names in that of the alphabet: two
// runs that did the same have equal timelines, whoever was noted first.
Timeline ordered(Timeline timeline);

// The lanes of several ranks' own timelines of one run, as real processes write them; title, facts
// and finding are those of the first that has any.
Timeline merged(std::vector<Timeline> parts);

}  // namespace lockstep::trace
