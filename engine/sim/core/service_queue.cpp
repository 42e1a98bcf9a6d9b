// Services: who is served next, and whose deadline comes first. All of it goes by virtual time, so
// what a service saw is the order in which it happened.
#include <algorithm>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

Service::Answer Service::expire(const Actor& who, const Request& request, double now) {
  throw Error(text("rank ", who.rank, ": ", request.name, " gave no answer until ", now, " s"));
}

// Before the strand that is ready first goes on, everything happens that comes before it: requests
// are served, and those whose deadline has come are expired. At one and the same moment strands
// go on and services answer before anything expires.
void Core::State::run_services() {
  while (true) {
    double next_s = Service::forever;
    for (const Ready& ready : ready_by_time_) next_s = std::min(next_s, ready.time_s);
    const auto late = waiting_for_services([&](const StrandState& s) { return deadline_of(s); });
    const double late_s = late.empty() ? Service::forever : late.front().time_s;
    if (serve_earliest(std::min(next_s, late_s))) continue;
    if (late_s >= next_s) return;
    const Actor actor = late.front().actor;
    strand_of(actor).clock_s = late_s;
    answer(actor, [&](Service& service, const Request& request, double now) {
      return service.expire(actor, request, now);
    });
  }
}

bool Core::State::serve_earliest(double before_s) {
  for (const Ready& asking : waiting_for_services([](const StrandState& s) { return s.clock_s; })) {
    if (asking.time_s > before_s) return false;
    if (answer(asking.actor, [&](Service& service, const Request& request, double now) {
          return service.serve(asking.actor, request, now);
        })) {
      return true;
    }
  }
  return false;
}

// Returns true if the strand's request was answered, or failed, or ended the run. Requests are
// answered in the order of time but for those that wait; of these, one is answered at the moment of
// what it waited for, which is the last thing that happened.
bool Core::State::answer(Actor actor, const Answering& answering) {
  StrandState& strand = strand_of(actor);
  const double asked_s = strand.clock_s;
  const double now = std::max(asked_s, served_s_);
  Reply reply;
  try {
    auto answer = answering(service_of(*strand.serving), *strand.serving, now);
    if (!answer) return false;
    strand.clock_s = std::max(now, answer->at);
    reply.data = std::move(answer->data);
  } catch (const WorldEnds& end) {
    strand.clock_s = now;
    end_world(end.why);
    return true;
  } catch (const Error& error) {
    strand.clock_s = now;
    reply.status = Status::failed;
    reply.error = error.what();
  }
  served_s_ = now;
  if (recorder_) recorder_->waited(actor, *strand.serving, asked_s, strand.clock_s);
  strand.serving.reset();
  answer_now(actor, std::move(reply));
  return true;
}

Service& Core::State::service_of(const Request& request) const {
  return **std::find_if(
      options_.services.begin(), options_.services.end(),
      [&](const Service* candidate) { return candidate->name() == request.name; });
}

// A request that serve() will refuse anyway has no deadline.
double Core::State::deadline_of(const StrandState& strand) const {
  try {
    const Request& request = *strand.serving;
    return std::max(strand.clock_s, service_of(request).deadline_s(request, strand.clock_s));
  } catch (const Error&) {
    return Service::forever;
  }
}

// The strands that a service has not answered yet, the earliest first.
std::vector<Core::State::Ready> Core::State::waiting_for_services(
    const std::function<double(const StrandState&)>& time) const {
  std::vector<Ready> waiting;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    for (const auto& [id, strand] : strands_[static_cast<std::size_t>(rank)]) {
      if (strand.serving) waiting.push_back({time(strand), {rank, id}});
    }
  }
  std::sort(waiting.begin(), waiting.end(),
            [&](const Ready& a, const Ready& b) { return earlier(a, b); });
  return waiting;
}

}  // namespace lockstep::sim
