#include "engine/sim/core/recorder.hpp"

#include "engine/base/text.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::sim {

std::string words_of(const Request& request, int peer) {
  if (request.op == Op::collective || request.op == Op::icollective) {
    return std::string(name_of(request.collective));
  }
  if (request.op == Op::join) return text("strand ", request.handle, " to end");
  if (request.op == Op::pause) return "a monitor";
  if (request.op == Op::until) return "another strand";
  if (request.op == Op::service) return "service " + request.name;
  if (peer < 0) return std::string(name_of(request.op));
  const bool to = request.op == Op::send || request.op == Op::isend;
  return text(name_of(request.op), to ? " to rank " : " from rank ", peer);
}

void Recorder::computed(Actor actor, const Request& request, double start_s) {
  trace::Span span{.rank = actor.rank, .strand = actor.strand};
  span.name = timeline_.named(request.name.empty() ? "compute" : request.name);
  span.where = timeline_.named(place_of(request.file, request.line));
  span.start_s = start_s;
  span.end_s = start_s + request.seconds;
  timeline_.add(span);
}

void Recorder::waited(Actor actor, const Operation& operation, int peer, double start_s,
                      double end_s) {
  const Request& request = request_of(operation);
  trace::Span span{.rank = actor.rank, .strand = actor.strand, .lane = trace::Lane::waiting};
  span.name = timeline_.named(words_of(request, peer));
  span.where = timeline_.named(place_of(request.file, request.line));
  span.start_s = start_s;
  span.end_s = end_s;
  if (peer >= 0) {
    span.bytes = request.count * static_cast<std::int64_t>(bytes_of(request.dtype));
    span.depth = operation.depth;
  }
  timeline_.add(span);
}

void Recorder::waited(Actor actor, const Request& request, double start_s, double end_s) {
  trace::Span span{.rank = actor.rank, .strand = actor.strand, .lane = trace::Lane::waiting};
  span.name = timeline_.named(words_of(request, -1));
  span.where = timeline_.named(place_of(request.file, request.line));
  span.start_s = start_s;
  span.end_s = end_s;
  timeline_.add(span);
}

void Recorder::sent(const Operation& send, int src, int dst, double start_s, double arrived_s) {
  const Message& request = send.request;
  trace::Message message{.src = src, .dst = dst, .tag = request.tag, .group = request.group};
  message.bytes = request.count * static_cast<std::int64_t>(bytes_of(request.dtype));
  message.depth = send.depth;
  message.label = timeline_.named(std::string(name_of(request.op)));
  message.where = timeline_.named(place_of(request.file, request.line));
  message.start_s = start_s;
  message.sent_s = send.done_s;
  message.arrived_s = arrived_s;
  timeline_.add(message);
}

void Recorder::collective(const Operation& member, std::int64_t bytes, double start_s,
                          double end_s) {
  const Request& request = request_of(member);
  trace::Span span{
      .rank = member.owner.rank, .strand = member.owner.strand, .lane = trace::Lane::communication};
  span.name = timeline_.named(words_of(request, -1));
  span.where = timeline_.named(place_of(request.file, request.line));
  span.start_s = start_s;
  span.end_s = end_s;
  span.bytes = bytes;
  timeline_.add(span);
}

void Recorder::found(const Finding& finding, std::vector<trace::Waiting> waiting) {
  timeline_.finding = {.verdict = std::string(name_of(finding.kind)),
                       .message = finding.message,
                       .where = finding.where,
                       .ranks = finding.ranks,
                       .waiting = std::move(waiting)};
}

}  // namespace lockstep::sim
