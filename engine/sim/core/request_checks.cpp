// Checks what a rank may ask for. Requests come from code that is not trusted, so each is checked
// whole before anything is done with it: first that it makes sense, then that the case allows so
// much.
#include <algorithm>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

namespace {

constexpr double seconds_max = 1e9;

// Which counts a request of member `rank` must bring, see Request::counts.
bool counts_fit(const Request& request, int rank, int size) {
  const auto seen = request.counts.size();
  const bool collective = request.op == Op::collective || request.op == Op::icollective;
  if (collective && traits_of(request.collective).is_exchange()) {
    return std::cmp_equal(seen, 2 * size);
  }
  if (seen == 0) return true;
  return collective && request.collective == Collective::all_gather && std::cmp_equal(seen, size) &&
         request.counts[static_cast<std::size_t>(rank)] == request.count;
}

}  // namespace

void Core::State::check(Actor actor, const Request& request) const {
  const auto fail = [&](const auto&... what) {
    throw Error(text("rank ", actor.rank, " asks for ", name_of(request.op), " ", what...,
                     and_place(request)));
  };
  const auto own = static_cast<std::size_t>(actor.rank);
  if (request.op == Op::compute || request.op == Op::until) {
    if (!(request.seconds >= 0 && request.seconds <= seconds_max)) {
      fail("of ", request.seconds, " seconds");
    }
    return;
  }
  if (request.op == Op::pause) return;
  if (request.op == Op::wait) {
    if (!pool_.is_open(actor.rank, request.handle)) fail("on a handle that is not open");
    return;
  }
  if (request.op == Op::join) {
    const auto id = static_cast<int>(std::min<std::uint64_t>(request.handle, 1U << 30));
    if (id == actor.strand || !strands_[own].contains(id)) fail("with strand ", request.handle);
    return;
  }
  if (request.op == Op::service) {
    const auto& all = options_.services;
    if (std::none_of(all.begin(), all.end(),
                     [&](const Service* s) { return s->name() == request.name; })) {
      fail("'", printable(request.name, 40), "', which is not served here");
    }
    return;
  }
  if (request.group >= groups_.size() || groups_[request.group].rank_of(actor.rank) < 0) {
    fail("in group ", request.group, ", of which it is not a member");
  }
  const int size = static_cast<int>(groups_[request.group].members.size());
  if (request.count < 0 || request.count > count_max) fail("of ", request.count, " elements");
  for (const std::int64_t count : request.counts) {
    if (count < 0 || count > count_max) fail("with a count of ", count, " elements");
  }
  if (!counts_fit(request, groups_[request.group].rank_of(actor.rank), size)) {
    fail("with ", request.counts.size(), " counts among ", size, " ranks");
  }
  const std::int64_t given = given_count(request, static_cast<std::size_t>(size));
  if (!request.data.bytes.empty() &&
      std::cmp_not_equal(request.data.bytes.size(), given * bytes_of(request.dtype))) {
    fail("of ", given, " elements with ", request.data.bytes.size(), " bytes");
  }
  if (request.op == Op::split) {
    if (request.color < -1) fail("with color ", request.color);
    return;
  }
  if (request.op == Op::collective || request.op == Op::icollective) {
    if (traits_of(request.collective).has_root() && (request.peer < 0 || request.peer >= size)) {
      fail("with root ", request.peer);
    }
    return;
  }
  const bool in_group = request.peer >= 0 && request.peer < size;
  if (!in_group ||
      groups_[request.group].members[static_cast<std::size_t>(request.peer)] == actor.rank) {
    fail("with peer ", request.peer, " of ", size);
  }
  if (request.count == 0) fail("of 0 elements; empty messages are not sent");
}

void Core::State::check(Actor actor, const Message& message) const {
  check(actor, request_of(message));
}

void Core::State::count(Actor actor, const Request& request) {
  const bool sends = request.op == Op::send || request.op == Op::isend;
  const bool collective = request.op == Op::collective || request.op == Op::icollective;
  if (sends || collective) ++messages_;
  bytes_ += sends        ? bytes_of(request)
            : collective ? given_bytes(request, groups_[request.group].members.size())
                         : static_cast<std::int64_t>(request.data.bytes.size());
  if (passes_limits()) check_limits(actor, request);
}

void Core::State::check_limits(Actor actor, const Message& message) {
  check_limits(actor, request_of(message));
}

void Core::State::check_limits(Actor actor, const Request& request) {
  const auto over = [&](std::int64_t seen, std::int64_t allowed, const char* what) {
    if (seen <= allowed) return;
    found(
        {FindingKind::traffic_limit,
         text("traffic limit: this case allows ", allowed, " ", what, " from all ranks together; ",
              "rank ", actor.rank, " exceeded it with ", name_of(request.op),
              request.name.empty() ? "" : text(" of ", printable(request.name, 40)),
              and_place(request),
              request.op == Op::service || request.op == Op::compute
                  ? ". Does a loop poll where it could wait?"
                  : ". Does a loop run too often, or send more than it needs to?"),
         {actor.rank},
         place_of(request)});
  };
  const auto& limits = options_.limits;
  over(messages_, limits.messages_max, "messages");
  over(bytes_, limits.bytes_max, "bytes");
  over(requests_, limits.requests_max, "requests");
}

}  // namespace lockstep::sim
