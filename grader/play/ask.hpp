// What adapters ask of the judge by themselves: a service, and time.
#pragma once

#include "engine/base/error.hpp"
#include "engine/sim/request.hpp"

namespace lockstep::grader {

// Throws Error with the service's reason when it refuses.
inline sim::Reply ask(sim::Port& port, const char* service, const Bytes& argument) {
  sim::Request request;
  request.op = sim::Op::service;
  request.name = service;
  request.data.bytes = argument;
  sim::Reply reply = port.call(request);
  if (reply.status != sim::Status::ok) throw Error(reply.error);
  return reply;
}

// Lets virtual time pass for the calling strand, and says what time it is then.
inline double pass_time(sim::Port& port, double seconds) {
  sim::Request request;
  request.op = sim::Op::compute;
  request.seconds = seconds;
  return port.call(request).now;
}

}  // namespace lockstep::grader
