#include "grader/parts/11_sharding/activation_checkpoint/segments.hpp"

#include <algorithm>

#include "grader/judge/keyed.hpp"

namespace lockstep::grader::activation_checkpoint {
namespace {

using Kind = SegmentCall::Kind;

std::uint64_t token_of(const CheckpointQuestion& q, int pass) {
  return keyed_bits(q.secret, 5'000'000 + static_cast<std::uint64_t>(pass)) | 1;
}

}  // namespace

SegmentAnswer answer_to(const CheckpointQuestion& q, const SegmentCall& call) {
  switch (call.kind) {
    case Kind::forward_is_over:
      return {.begin_at = 0.5 + static_cast<double>(keyed_bits(q.secret, 4'000'000) % 64) / 64};
    case Kind::first_half_is_over:
      return {.token = token_of(q, call.pass)};
    case Kind::all_is_over:
      return {};
    default:
      break;
  }
  // A block's runs in one pass have one mask: both compute the same.
  const auto place = static_cast<std::uint64_t>(2 * (call.pass * q.block_count() + call.block) +
                                                (call.kind == Kind::run ? 0 : 1));
  const std::uint64_t salt = keyed_bits(q.secret, place);
  SegmentAnswer answer;
  answer.mask.resize(static_cast<std::size_t>(q.batch) * static_cast<std::size_t>(q.width));
  std::uint64_t at = 0;
  for (float& one : answer.mask) {
    one = 0.5F + static_cast<float>(keyed_bits(salt, at++) >> 40) / static_cast<float>(1 << 24);
  }
  return answer;
}

SegmentService::SegmentService(const std::vector<CheckpointQuestion>& questions, MemoryOf memory_of)
    : memory_of_(std::move(memory_of)) {
  for (const CheckpointQuestion& q : questions) {
    Asked& asked = questions_[q.seed];
    asked.question = q;
    const std::vector<int> none(static_cast<std::size_t>(q.block_count()));
    asked.seen = {.runs = none, .recorded = none, .early = none};
  }
}

const SegmentsSeen& SegmentService::of(const CheckpointQuestion& question) const {
  const SegmentsSeen& seen = questions_.at(question.seed).seen;
  const bool halved = question.walk == CheckpointWalk::in_halves;
  if (!seen.forward_is_over || !seen.all_is_over || seen.halves != (halved ? question.passes : 0)) {
    throw MalformedMessage("a training that was not told to its end");
  }
  return seen;
}

std::optional<sim::Service::Answer> SegmentService::answer(const sim::Actor& who, SegmentCall call,
                                                           double now) {
  const auto found = questions_.find(call.seed);
  if (found == questions_.end()) throw Error("there is no such question");
  Asked& asked = found->second;
  const CheckpointQuestion& q = asked.question;
  if (call.pass < 0 || call.pass >= q.passes || call.block < 0 || call.block >= q.block_count() ||
      asked.seen.all_is_over) {
    throw Error("there is no such block, or its training is over");
  }
  note(asked, call, who.rank);
  return answer_with(answer_to(q, call), now);
}

void SegmentService::note(Asked& asked, const SegmentCall& call, int rank) const {
  SegmentsSeen& seen = asked.seen;
  const auto block = static_cast<std::size_t>(call.block);
  const auto held = [&] { return asked.question.measured() ? memory_of_(rank) : std::nullopt; };
  switch (call.kind) {
    case Kind::run:
      ++seen.runs[block];
      seen.recorded[block] += call.records != 0 ? 1 : 0;
      if (!seen.forward_is_over) seen.forward_bytes = std::max(seen.forward_bytes, held());
      return;
    case Kind::weights:
      if (asked.question.walk != CheckpointWalk::in_halves) return;
      seen.early[block] += call.token == token_of(asked.question, call.pass) ? 0 : 1;
      return;
    case Kind::forward_is_over:
      seen.forward_is_over = true;
      seen.forward_bytes = std::max(seen.forward_bytes, held());
      return;
    case Kind::first_half_is_over:
      ++seen.halves;
      seen.between_bytes = std::max(seen.between_bytes, held());
      return;
    case Kind::all_is_over:
      seen.all_is_over = true;
      seen.left_bytes = held();
      return;
  }
}

}  // namespace lockstep::grader::activation_checkpoint
