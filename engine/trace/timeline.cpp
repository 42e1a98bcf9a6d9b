#include "engine/trace/timeline.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::trace {

Name Timeline::named(const std::string& name) {
  if (name.empty()) return 0;
  const auto [at, is_new] = places_.try_emplace(name, static_cast<Name>(names.size()));
  if (is_new) names.push_back(name);
  return at->second;
}

bool Timeline::has_room() {
  if (spans.size() + messages.size() < events_max) return true;
  ++left_out;
  return false;
}

void Timeline::add(Span span) {
  if (span.end_s > span.start_s && has_room()) spans.push_back(span);
}

void Timeline::add(Message message) {
  if (has_room()) messages.push_back(message);
}

void Timeline::sample(const std::string& name, const std::string& unit, int rank, double time_s,
                      double value) {
  const auto same = [&](const Series& s) { return s.rank == rank && s.name == name; };
  auto found = std::find_if(series.begin(), series.end(), same);
  if (found == series.end()) found = series.insert(series.end(), {name, unit, rank, {}});
  found->samples.push_back({time_s, value});
}

double Timeline::end_s() const {
  double end = 0;
  for (const Span& span : spans) end = std::max(end, span.end_s);
  for (const Message& message : messages) end = std::max(end, message.arrived_s);
  for (const Series& one : series) {
    for (const auto& sample : one.samples) end = std::max(end, sample.time_s);
  }
  return end;
}

Timeline ordered(Timeline timeline) {
  std::vector<Name> by_alphabet(timeline.names.size());
  std::iota(by_alphabet.begin(), by_alphabet.end(), Name{0});
  std::sort(by_alphabet.begin(), by_alphabet.end(),
            [&](Name a, Name b) { return timeline.names[a] < timeline.names[b]; });
  std::vector<Name> place(by_alphabet.size());
  std::vector<std::string> names;
  for (const Name name : by_alphabet) {
    place[name] = static_cast<Name>(names.size());
    names.push_back(std::move(timeline.names[name]));
  }
  timeline.names = std::move(names);
  for (Span& span : timeline.spans) {
    span.name = place[span.name];
    span.where = place[span.where];
  }
  for (Message& message : timeline.messages) {
    message.label = place[message.label];
    message.where = place[message.where];
  }
  const auto by_rank_and_time = [](const Span& a, const Span& b) {
    return std::tie(a.rank, a.start_s, a) < std::tie(b.rank, b.start_s, b);
  };
  const auto by_sender_and_time = [](const Message& a, const Message& b) {
    return std::tie(a.src, a.start_s, a) < std::tie(b.src, b.start_s, b);
  };
  std::sort(timeline.spans.begin(), timeline.spans.end(), by_rank_and_time);
  std::sort(timeline.messages.begin(), timeline.messages.end(), by_sender_and_time);
  for (Series& one : timeline.series)
    std::stable_sort(one.samples.begin(), one.samples.end(),
                     [](const auto& a, const auto& b) { return a.time_s < b.time_s; });
  std::sort(timeline.series.begin(), timeline.series.end(), [](const Series& a, const Series& b) {
    return std::tie(a.name, a.rank) < std::tie(b.name, b.rank);
  });
  return timeline;
}

Timeline merged(std::vector<Timeline> parts) {
  Timeline all;
  for (Timeline& part : parts) {
    if (&part == &parts.front()) {
      all.title = part.title;
      all.clock = part.clock;
    }
    if (all.facts.empty()) all.facts = std::move(part.facts);
    if (!all.finding) all.finding = std::move(part.finding);
    all.ranks = std::max(all.ranks, part.ranks);
    all.left_out += part.left_out;
    for (Span span : part.spans) {
      span.name = all.named(part.names[span.name]);
      span.where = all.named(part.names[span.where]);
      all.add(span);
    }
    for (Message message : part.messages) {
      message.label = all.named(part.names[message.label]);
      message.where = all.named(part.names[message.where]);
      all.add(message);
    }
    all.series.insert(all.series.end(), std::make_move_iterator(part.series.begin()),
                      std::make_move_iterator(part.series.end()));
  }
  return ordered(std::move(all));
}

}  // namespace lockstep::trace
