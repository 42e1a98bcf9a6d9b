#include "grader/exam/driven/picture.hpp"

#include <algorithm>
#include <map>

namespace lockstep::grader {
namespace {

using Kind = DrivenEvent::Kind;

// Removes the waits for backward: in truth, the rank computes a gradient meanwhile.
//   Returns  how many such waits there were: none in a picture that was drawn before
std::size_t take_waits_for_backward(trace::Timeline& drawn) {
  const trace::Name asked = drawn.named(text("service ", EventCall::service));
  return std::erase_if(drawn.spans, [&](const trace::Span& span) {
    return span.lane == trace::Lane::waiting && span.name == asked;
  });
}

void draw_gradients(const DrivenRun& run, int rank, trace::Timeline& drawn) {
  for (const ScriptService::Note& note : run.events.notes(rank)) {
    const Kind kind = note.scripted.event.kind;
    if (kind != Kind::ready && kind != Kind::add) continue;
    trace::Span span{.rank = run.members.ranks[static_cast<std::size_t>(rank)]};
    const char* const name = kind == Kind::ready ? "gradient " : "unreduced gradient ";
    span.name = drawn.named(text(name, note.scripted.event.parameter));
    span.start_s = note.asked_s;
    span.end_s = note.given_s;
    drawn.add(span);
  }
}

// The n-th collective of a pass is that of bucket n.
void number_buckets(std::size_t buckets, trace::Timeline& drawn) {
  if (buckets == 0) return;
  std::map<int, std::vector<trace::Span*>> of_rank;
  for (trace::Span& span : drawn.spans) {
    if (span.lane == trace::Lane::communication) of_rank[span.rank].push_back(&span);
  }
  for (auto& [rank, spans] : of_rank) {
    std::ranges::sort(spans, {}, [](const trace::Span* span) { return span->start_s; });
    if (spans.size() % buckets != 0) continue;  // not one for each bucket of each pass
    for (std::size_t i = 0; i < spans.size(); ++i) {
      spans[i]->name = drawn.named(text("bucket ", i % buckets));
    }
  }
}

}  // namespace

void draw_backward(const DrivenRun& run, std::size_t buckets, trace::Timeline& drawn) {
  if (take_waits_for_backward(drawn) == 0) return;
  for (int rank = 0; rank < run.ranks(); ++rank) draw_gradients(run, rank, drawn);
  number_buckets(buckets, drawn);
}

}  // namespace lockstep::grader
