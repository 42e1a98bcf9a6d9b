// Requests that adapters make of the judge by themselves: services, and time. The call of a service
// is a struct with a list of fields, which names the service:
//
//   struct DatasetCall {
//     static constexpr const char* service = "dataset";
//     std::vector<std::int64_t> indices;
//   };
#pragma once

#include "engine/base/fields.hpp"
#include "engine/sim/wire/printable.hpp"
#include "engine/sim/wire/request.hpp"

namespace lockstep::grader {

// Makes a call whose answer says nothing. Throws Error with the service's reason when it refuses.
template <typename Call>
sim::Reply tell(sim::Port& port, const Call& call) {
  const Bytes argument = fields_to_bytes(call);
  sim::Request request;
  request.op = sim::Op::service;
  request.name = Call::service;
  request.data.bytes = argument;
  sim::Reply reply = port.call(request);
  if (reply.status != sim::Status::ok) throw Error(reply.error);
  return reply;
}

template <typename Answer, typename Call>
Answer ask(sim::Port& port, const Call& call) {
  return fields_from_bytes<Answer>(tell(port, call).data.bytes);
}

// For check_fields() of a call that reports what a rank does: its kind is one, and its text, which
// may be the part's, can be printed.
template <typename Report>
void check_report(Report& report, typename Report::Kind last_kind) {
  if (report.kind > last_kind) throw MalformedMessage("no kind of report");
  report.what = sim::printable(report.what, 300);
}

// Lets virtual time pass for the calling strand, and says what time it is then.
inline double pass_time(sim::Port& port, double seconds) {
  sim::Request request;
  request.op = sim::Op::compute;
  request.seconds = seconds;
  return port.call(request).now;
}

}  // namespace lockstep::grader
