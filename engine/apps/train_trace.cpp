#include "engine/apps/train_trace.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/trace/data.hpp"
#include "engine/trace/page.hpp"

namespace lockstep::apps {
namespace {

using train::Phase;

// A series need not be finer than a screen: of many samples the highest of each window is kept.
constexpr std::size_t samples_max = 1500;
// Between two kernels of paper, when it waits for nobody.
constexpr double at_once_s = 20e-6;

std::vector<trace::Series::Sample> thinned(const std::vector<trace::Series::Sample>& samples) {
  if (samples.size() <= samples_max) return samples;
  std::vector<trace::Series::Sample> result;
  const std::size_t window = samples.size() / samples_max + 1;
  for (std::size_t i = 0; i < samples.size(); i += window) {
    const auto first = samples.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(window, samples.size() - i));
    result.push_back(*std::max_element(
        first, last, [](const auto& a, const auto& b) { return a.value < b.value; }));
  }
  return result;
}

}  // namespace

struct RankTrace::Times {
  struct Flight {
    collectives::UnderWay what;
    double start_s;
    double ran_s = 0, end_s = 0;  // once it was waited for
  };
  struct Wait {
    std::string name;
    double began_s, ended_s;
  };
  std::vector<Flight> flights;  // in the order in which they were started
  std::vector<Wait> waits;
};

class RankTrace::Watched final : public comm::Pending {
 public:
  // It is the Work of the flight that was noted last.
  Watched(comm::Work work, RankTrace& trace, std::string name)
      : work_(std::move(work)),
        trace_(trace),
        flight_(trace.times_->flights.size() - 1),
        name_(std::move(name)) {}

  void wait() override {
    const double began_s = trace_.group_.now_s();
    work_.wait();
    const double ended_s = trace_.group_.now_s();
    Times::Flight& flight = trace_.times_->flights[flight_];
    flight.ran_s = work_.ran_s().value_or(ended_s - began_s);
    flight.end_s = ended_s;
    trace_.times_->waits.push_back({name_, began_s, ended_s});
  }
  std::optional<double> ran_s() const override { return work_.ran_s(); }

 private:
  comm::Work work_;
  RankTrace& trace_;
  std::size_t flight_;
  std::string name_;  // of the wait
};

class RankTrace::Hook final : public collectives::CommHook {
 public:
  Hook(RankTrace& trace, collectives::CommHook& inner) : trace_(trace), inner_(inner) {}

  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    Times& times = *trace_.times_;
    times.flights.push_back(
        {{text("bucket ", bucket.index), static_cast<std::int64_t>(bucket.flat.bytes())},
         group.now_s()});
    const std::size_t flight = times.flights.size() - 1;
    comm::Work work = inner_.start(group, bucket);
    if (!work.complete()) {
      return comm::Work(std::make_unique<Watched>(std::move(work), trace_, "all_reduce"));
    }
    Times::Flight& noted = times.flights[flight];
    noted.end_s = group.now_s();
    noted.ran_s = noted.end_s - noted.start_s;
    times.waits.push_back({"all_reduce", noted.start_s, noted.end_s});
    return work;
  }

 private:
  RankTrace& trace_;
  collectives::CommHook& inner_;
};

RankTrace::RankTrace(comm::ProcessGroup& group, const Device& device)
    : group_(group), device_(device), times_(std::make_unique<Times>()) {}

RankTrace::~RankTrace() = default;

void RankTrace::enter(Phase phase) {
  marks_.push_back({group_.now_s(), phase});
  sample_memory();
}

void RankTrace::sample_memory() {
  const auto bytes = static_cast<double>(device_.bytes_now());
  if (memory_.empty() || memory_.back().value != bytes) memory_.push_back({group_.now_s(), bytes});
}

collectives::CommHook& RankTrace::watch(collectives::CommHook& inner) {
  hook_ = std::make_unique<Hook>(*this, inner);
  return *hook_;
}

comm::Work RankTrace::under_way(collectives::UnderWay what, comm::Work work) {
  if (work.complete()) return work;
  const std::string name = what.name;
  times_->flights.push_back({std::move(what), group_.now_s()});
  return comm::Work(std::make_unique<Watched>(std::move(work), *this, name));
}

trace::Series RankTrace::memory_series() const {
  return {"memory", "bytes", group_.rank(), thinned(memory_)};
}

// The pieces of a span that lie in one phase each; what lies before the first is no step's.
void RankTrace::add_phase(trace::Timeline& timeline, const trace::Span& computed) const {
  auto mark = std::upper_bound(marks_.begin(), marks_.end(), computed.start_s,
                               [](double time, const Mark& m) { return time < m.time_s; });
  double start = computed.start_s;
  while (start < computed.end_s) {
    const double end =
        mark == marks_.end() ? computed.end_s : std::min(mark->time_s, computed.end_s);
    trace::Span piece = computed;
    const Phase phase = mark == marks_.begin() ? Phase::other : std::prev(mark)->phase;
    piece.name = timeline.named(std::string(name_of(phase)));
    piece.start_s = start;
    piece.end_s = end;
    // Operations that follow one another without a gap are one piece of work to look at.
    trace::Span* last = timeline.spans.empty() ? nullptr : &timeline.spans.back();
    const bool goes_on = last != nullptr && last->rank == piece.rank && last->lane == piece.lane &&
                         last->name == piece.name && last->strand == piece.strand &&
                         last->end_s == piece.start_s;
    if (goes_on) {
      last->end_s = piece.end_s;
    } else {
      timeline.add(piece);
    }
    start = end;
    if (mark != marks_.end()) ++mark;
  }
}

void RankTrace::name_computing(trace::Timeline& timeline) const {
  std::vector<trace::Span> computed;
  std::erase_if(timeline.spans, [&](const trace::Span& span) {
    const bool mine =
        span.rank == group_.rank() && span.strand == 0 && span.lane == trace::Lane::compute;
    if (mine) computed.push_back(span);
    return mine;
  });
  std::sort(computed.begin(), computed.end(),
            [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  for (const trace::Span& span : computed) add_phase(timeline, span);
  timeline.series.push_back(memory_series());
}

trace::Timeline RankTrace::timeline() const {
  trace::Timeline result;
  result.clock = trace::Clock::wall;
  result.ranks = group_.size();
  trace::Span span;
  span.rank = group_.rank();
  auto waits = times_->waits;
  std::ranges::sort(waits, {}, &Times::Wait::began_s);
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    if (marks_[i].phase == Phase::other || i + 1 == marks_.size()) continue;
    span.name = result.named(std::string(name_of(marks_[i].phase)));
    span.start_s = marks_[i].time_s;
    for (const Times::Wait& wait : waits) {
      if (wait.ended_s <= span.start_s || wait.began_s >= marks_[i + 1].time_s) continue;
      span.end_s = wait.began_s;
      result.add(span);
      span.start_s = wait.ended_s;
    }
    span.end_s = marks_[i + 1].time_s;
    result.add(span);
  }
  add_waits(result);
  add_collectives(result);
  result.series.push_back(memory_series());
  return result;
}

void RankTrace::add_waits(trace::Timeline& timeline) const {
  trace::Span span;
  span.rank = group_.rank();
  span.lane = trace::Lane::waiting;
  for (const Times::Wait& wait : times_->waits) {
    span.name = timeline.named(wait.name);
    span.start_s = wait.began_s;
    span.end_s = wait.ended_s;
    timeline.add(span);
  }
}

// Those of a queue run one after the other, in the order in which they were started.
void RankTrace::add_collectives(trace::Timeline& timeline) const {
  std::map<int, double> free_s;  // by queue, when the last one was over
  trace::Span span;
  span.rank = group_.rank();
  span.lane = trace::Lane::communication;
  for (const Times::Flight& flight : times_->flights) {
    if (flight.end_s == 0) continue;  // nobody has waited for it
    double& free = free_s[flight.what.queue];
    span.name = timeline.named(flight.what.name);
    span.strand = flight.what.queue;
    span.bytes = flight.what.bytes;
    span.start_s = std::max(flight.start_s, free);
    span.end_s = std::max(span.start_s, std::min(span.start_s + flight.ran_s, flight.end_s));
    free = span.end_s;
    timeline.add(span);
  }
}

Phase RankTrace::phase_at(double time_s) const {
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), time_s,
                                      [](double time, const Mark& m) { return time < m.time_s; });
  return after == marks_.begin() ? Phase::other : std::prev(after)->phase;
}

// Kernels run one after the other; those of a phase that follow each other at once are one piece of
// work to look at. Each communicator has a stream, and a row, of its own.
trace::Timeline RankTrace::timeline_of_paper(const std::string& history) const {
  trace::Timeline result;
  result.clock = trace::Clock::wall;
  result.ranks = group_.size();
  std::vector<std::uint32_t> streams;  // of communicators
  std::optional<trace::Span> computes;
  std::istringstream lines(history);
  trace::Span span;
  span.rank = group_.rank();
  double asked_s = 0;
  std::uint32_t stream = 0;
  std::string name;
  while (lines >> asked_s >> span.start_s >> span.end_s >> stream && std::getline(lines, name)) {
    if (marks_.empty() || asked_s < marks_.front().time_s) continue;
    name.erase(0, 1);  // the blank before it
    if (name.starts_with("nccl")) {
      span.lane = trace::Lane::communication;
      span.name = result.named(name);
      span.strand = static_cast<int>(std::ranges::find(streams, stream) - streams.begin());
      if (span.strand == std::ssize(streams)) streams.push_back(stream);
      result.add(span);
      if (computes) result.add(*computes);
      computes.reset();
      continue;
    }
    span.lane = trace::Lane::compute;
    span.name = result.named(std::string(name_of(phase_at(asked_s))));
    span.strand = 0;
    if (computes && computes->name == span.name && span.start_s - computes->end_s < at_once_s) {
      computes->end_s = span.end_s;
      continue;
    }
    if (computes) result.add(*computes);
    computes = span;
  }
  if (computes) result.add(*computes);
  result.series.push_back(memory_series());
  return result;
}

namespace {

// From the first thing that any rank did.
void begin_at_zero(trace::Timeline& timeline) {
  double first = timeline.end_s();
  for (const trace::Span& span : timeline.spans) first = std::min(first, span.start_s);
  for (trace::Span& span : timeline.spans) {
    span.start_s -= first;
    span.end_s -= first;
  }
  for (trace::Series& series : timeline.series) {
    for (auto& sample : series.samples) sample.time_s = std::max(sample.time_s - first, 0.0);
  }
}

}  // namespace

void write_together(const std::string& file, comm::ProcessGroup& group, trace::Timeline mine) {
  const auto part_of = [&](int rank) { return text(file, ".rank", rank, ".part"); };
  {
    std::ofstream out(part_of(group.rank()), std::ios::binary);
    write_data(out, mine);
    if (!out.flush()) {
      throw Error(text("--trace: ", part_of(group.rank()), " cannot be written whole; is the disk ",
                       "full? Free some space there, or name a file on another disk"));
    }
  }
  group.barrier();
  if (group.rank() == 0) {
    std::vector<trace::Timeline> parts;
    for (int rank = 0; rank < group.size(); ++rank) {
      std::ostringstream content;
      content << std::ifstream(part_of(rank), std::ios::binary).rdbuf();
      if (content.str().empty()) {
        throw Error(text("--trace: rank ", rank, "'s part is not at ", part_of(rank),
                         "; do the ranks share that folder?"));
      }
      parts.push_back(trace::read_data(content.str()));
      std::filesystem::remove(part_of(rank));
    }
    trace::Timeline together = trace::merged(std::move(parts));
    begin_at_zero(together);
    trace::write_file(file, together);
  }
  group.barrier();
}

}  // namespace lockstep::apps
