#include "grader/exam/driven/found_buckets.hpp"

#include "grader/judge/compare.hpp"

namespace lockstep::grader {

std::optional<std::size_t> PlannedBuckets::bucket_of(const sim::FoundCall& call) const {
  std::optional<std::size_t> found;
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    std::int64_t count = 0;
    for (const std::size_t i : plan.buckets[b]) count += sizes.at(i);
    if (call.dtype != dtype || call.count != count) continue;
    if (found) return std::nullopt;
    found = b;
  }
  return found;
}

std::string PlannedBuckets::text_of(std::size_t bucket) const {
  const auto& members = plan.buckets[bucket];
  return text("bucket ", bucket, " (", members.size() == 1 ? "parameter " : "parameters ",
              members.size() == 1 ? text(members.front()) : listed(members), ")");
}

ReachedPass reached_pass(const std::vector<ScriptService::Note>& notes, double at_s) {
  constexpr double instant_s = 1e-12;  // virtual time is a sum of a few doubles of some 1e-5 s
  ReachedPass reached;
  for (const auto& note : notes) {
    if (note.given_s > at_s + instant_s) break;
    if (note.scripted.pass != reached.pass) reached = {note.scripted.pass, {}};
    const DrivenEvent& event = note.scripted.event;
    if (event.kind == DrivenEvent::Kind::ready) reached.ready.push_back(event.parameter);
  }
  return reached;
}

}  // namespace lockstep::grader
