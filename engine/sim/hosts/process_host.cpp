// The host's loop: read what players say, tell the core, and pass its answers on. One thread, never
// blocked but in poll, which has a deadline.
//
// A player's state: it is *running* while one of its strands is not blocked (its idle clock ticks),
// *blocked* while the core holds a request of each, *done* when its result is there, *broken* when
// it failed by itself. A frame that does not fit the state is as good as noise: that rank alone
// has crashed.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "engine/sim/hosts/process_host_state.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::sim {

namespace {

constexpr int frames_at_once = 256;  // of one player, before the others and the clock have a turn
constexpr std::size_t text_shown = 4000;  // of an exception
constexpr std::size_t name_shown = 40;    // of a strand

}  // namespace

ProcessHost::ProcessHost(std::vector<std::string> command, int players, const PlayerLimits& limits,
                         const std::optional<DebuggedPlayer>& debugged)
    : state_(std::make_unique<State>()) {
  LOCKSTEP_CHECK(players >= 1, "a host needs at least one player, not ", players);
  state_->command = std::move(command);
  state_->limits = limits;
  state_->debugged = debugged;
  state_->start_players(players);
}

// Those of the first `count` that are not there, side by side.
void ProcessHost::State::start_players(int count) {
  std::vector<Player*> started;
  players.resize(std::max(players.size(), static_cast<std::size_t>(count)));
  for (int rank = 0; rank < count; ++rank) {
    auto& place = players[static_cast<std::size_t>(rank)];
    if (place) continue;
    if (!debugged || debugged->rank != rank) {
      place = std::make_unique<Player>(command, limits, Surroundings::none);
    } else {
      std::vector<std::string> words = debugged->command;
      words.insert(words.end(), command.begin(), command.end());
      place = std::make_unique<Player>(words, limits, Surroundings::the_labs);
    }
    started.push_back(place.get());
  }
  for (Player* player : started) player->child.await_start(command);
}

ProcessHost::~ProcessHost() = default;

bool ProcessHost::usable() const { return state_->usable; }

std::optional<std::int64_t> ProcessHost::memory_bytes(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  const bool its_own = state_->limits.memory_bytes > 0 && !state_->debugged;
  if (!its_own || at >= state_->players.size() || !state_->players[at]) return std::nullopt;
  return state_->players[at]->child.memory_bytes();
}

std::optional<std::int64_t> ProcessHost::take_peak_bytes(int rank) {
  if (!memory_bytes(rank)) return std::nullopt;
  Player& of = state_->player(rank);
  const auto peak = std::exchange(of.peak_bytes, std::nullopt);
  of.watch_peak(0);
  return peak;
}

void Player::watch_peak(std::int64_t brought) {
  is_watched = child.forget_peak();
  brought_bytes = brought;
}

void Player::look_at_peak() {
  const auto bytes = is_watched ? child.peak_bytes() : std::nullopt;
  if (bytes) peak_bytes = std::max(peak_bytes.value_or(0), *bytes - brought_bytes);
}

CaseResult ProcessHost::run(Core& core, const std::vector<Bytes>& inputs) {
  State& state = *state_;
  LOCKSTEP_CHECK(state.usable, "run: a case has failed in this host; make a new one");
  LOCKSTEP_CHECK(std::cmp_equal(inputs.size(), core.ranks()), "run: ", inputs.size(),
                 " inputs for ", core.ranks(), " ranks");
  state.start_players(core.ranks());
  state.core = &core;
  state.ranks = core.ranks();
  state.result = {};
  state.result.results.resize(inputs.size());
  state.give_cases(inputs);
  const auto begin = Clock::now();
  const auto over = [&] { return core.finished() || state.result.finding.has_value(); };
  while (!over()) {
    state.go_on();
    if (seconds_between(begin, Clock::now()) > state.limits.case_s) state.found_too_long();
  }
  if (core.finding()) state.found(*core.finding());  // what is left over at the end
  for (int rank = 0; rank < state.ranks; ++rank) {
    state.read_output(rank);
    state.result.output.push_back(
        printable(state.player(rank).output, static_cast<std::size_t>(state.limits.output_bytes)));
  }
  state.found_bad_end();
  if (state.result.finding) {
    state.usable = false;
    state.players.clear();
  } else {
    for (int rank = 0; rank < state.ranks; ++rank) {
      if (state.player(rank).done) continue;
      state.result.killed.push_back(rank);
      state.players[static_cast<std::size_t>(rank)].reset();
    }
  }
  state.core = nullptr;
  return std::exchange(state.result, {});
}

void ProcessHost::State::go_on() {
  if (!someone_ended_badly()) return core->quiet() ? drive_core() : wait_for_players();
  const bool others_run = std::any_of(players.begin(), players.begin() + ranks,
                                      [](const auto& one) { return one->may_speak(); });
  return others_run ? wait_for_players() : found_bad_end();
}

// Among ranks that fail side by side, none can be the other's cause. A silent one comes first,
// because playing it again would cost seconds.
void ProcessHost::State::found_bad_end() {
  const Finding* first = nullptr;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& bad_end = player(rank).bad_end;
    if (!bad_end) continue;
    const bool silent = bad_end->kind == FindingKind::time;
    if (first == nullptr || (silent && first->kind != FindingKind::time)) first = &*bad_end;
  }
  if (first != nullptr) found(*first);
}

void ProcessHost::State::give_cases(const std::vector<Bytes>& inputs) {
  const auto now = Clock::now();
  for (int rank = 0; rank < ranks; ++rank) {
    Player& to = player(rank);
    to.running = 1;
    to.done = false;
    to.output.clear();
    to.output_bytes = 0;
    to.last_call.clear();
    to.is_watched = false;
    to.peak_bytes.reset();
    to.bad_end.reset();
    to.hears(now);
    ByteWriter head;
    head.put(rank).put(ranks);
    Bytes body = head.take();
    const Bytes& input = inputs[static_cast<std::size_t>(rank)];
    body.insert(body.end(), input.begin(), input.end());
    post(rank, OutgoingFrame(FrameKind::give_case, 0, to.sequence++, payload_of(std::move(body))));
  }
}

void ProcessHost::State::drive_core() {
  auto resumes = core->advance();
  if (core->finding()) {
    if (core->finding()->kind == FindingKind::deadlock) hear_foreign_threads();
    found_bad_end();
    return found(*core->finding());
  }
  const auto now = Clock::now();
  for (auto& [actor, reply] : resumes) {
    Player& to = player(actor.rank);
    if (to.running++ == 0) to.hears(now);
    answer(actor, reply);
  }
}

// Other strands of the rank may have gone on since its request: their peak counts, too.
void ProcessHost::State::answer(Actor actor, const Reply& reply) {
  Player& to = player(actor.rank);
  to.look_at_peak();
  if (to.is_watched) to.watch_peak(static_cast<std::int64_t>(reply.data.bytes.size()));
  post(actor.rank, OutgoingFrame(actor.strand, to.sequence++, reply));
}

void ProcessHost::State::wait_for_players() {
  std::vector<pollfd> events;
  bool waits = true;  // false if frames that were read are left over
  for (int rank = 0; rank < ranks; ++rank) {
    const Player& of = player(rank);
    const bool heard = !of.bad_end;
    waits = waits && !(heard && of.reader.holds_more());
    const short writing = of.outgoing.empty() ? 0 : POLLOUT;
    events.push_back({heard ? of.child.socket() : -1, static_cast<short>(POLLIN | writing), 0});
    events.push_back({heard && of.output_open ? of.child.output() : -1, POLLIN, 0});
  }
  // Often enough to see idleness soon after its limit.
  const int timeout_ms = waits ? static_cast<int>(std::ceil(limits.idle_s * 1000 / 10)) + 1 : 0;
  if (poll(events.data(), events.size(), timeout_ms) < 0 && errno != EINTR) {
    throw Error("the lab cannot wait for its players: poll failed");
  }
  const auto now = Clock::now();
  for (int rank = 0; rank < ranks && !result.finding; ++rank) {
    const short socket = events[static_cast<std::size_t>(2 * rank)].revents;
    if (events[static_cast<std::size_t>(2 * rank + 1)].revents & (POLLIN | POLLHUP))
      read_output(rank);
    if (socket & POLLOUT) flush(rank);
    if ((socket & (POLLIN | POLLHUP | POLLERR)) || player(rank).reader.holds_more()) hear(rank);
    check_idle(rank, now);
  }
}

void ProcessHost::State::post(int rank, OutgoingFrame frame) {
  player(rank).outgoing.push_back(std::move(frame));
  if (player(rank).outgoing.size() == 1) flush(rank);
}

void ProcessHost::State::flush(int rank) {
  auto& outgoing = player(rank).outgoing;
  try {
    while (!outgoing.empty() && outgoing.front().send(player(rank).child.socket(), LineEnd::host)) {
      outgoing.pop_front();
    }
  } catch (const Error&) {
    lost(rank);
  }
}

void ProcessHost::State::hear(int rank) {
  Player& from = player(rank);
  try {
    for (int frames = 0; frames < frames_at_once && !result.finding && !from.bad_end; ++frames) {
      switch (from.reader.read(from.child.socket())) {
        case FrameReader::State::would_block:
          return;
        case FrameReader::State::closed:
          return lost(rank);
        case FrameReader::State::complete:
          take(rank, from.reader.take());
      }
      if (from.reader.drained()) return;
    }
  } catch (const std::exception& error) {  // of the frame, or of the core: it makes no sense
    no_frame(rank, error.what());
  }
}

void ProcessHost::State::take(int rank, const IncomingFrame& frame) {
  Player& from = player(rank);
  from.hears(Clock::now());
  if (from.done) throw Error("it came after the result");
  const Actor actor{rank, frame.header.strand};
  Heard heard = heard_in(frame);
  switch (frame.header.kind) {
    case FrameKind::request:
      take_request(actor, std::move(heard.request));
      break;
    case FrameKind::strand_started:
      core->start(actor, {rank, heard.other}, printable(heard.text, name_shown));
      ++from.running;
      break;
    case FrameKind::strand_woken:  // it runs when the core hands its answer out
      core->wake({rank, heard.other}, actor);
      break;
    case FrameKind::strand_ended:
      if (actor.strand == 0) throw Error("the main strand ends with a result");
      core->end(actor);
      --from.running;
      break;
    case FrameKind::threw:
      core->threw(rank, printable(heard.text, text_shown));
      break;
    case FrameKind::gave_up:
      core->give_up(rank, text("rank ", rank, " gave up: ", printable(heard.text, text_shown)));
      take_result(rank, heard.result);
      break;
    case FrameKind::failed:
      take_failure(rank, heard.failure, printable(heard.text, text_shown), heard.calls);
      break;
    default:
      core->end({rank, 0});
      take_result(rank, heard.result);
  }
  if (core->finding() && !from.bad_end) found(*core->finding());
}

void ProcessHost::State::take_request(Actor actor, Request request) {
  Player& from = player(actor.rank);
  from.look_at_peak();
  if (!request.file.empty()) from.last_call = place_of(request.file, request.line);
  if (request.op == Op::isend || request.op == Op::irecv) {
    const auto reply = core->ask_and_go_on(actor, std::move(request));
    if (reply) answer(actor, *reply);
    if (!reply) --from.running;
    return;
  }
  core->ask(actor, std::move(request));
  --from.running;
}

void ProcessHost::State::take_result(int rank, std::span<const std::byte> bytes) {
  Player& from = player(rank);
  if (--from.running != 0) throw Error("a result while a strand is running");
  from.done = true;
  result.results[static_cast<std::size_t>(rank)].assign(bytes.begin(), bytes.end());
}

void ProcessHost::State::take_failure(int rank, Failure failure, const std::string& what,
                                      const std::vector<std::uint64_t>& calls) {
  const auto finding = [&](FindingKind kind, std::string message) {
    ends_badly(rank, {.kind = kind,
                      .message = std::move(message),
                      .ranks = {rank},
                      .where = {},
                      .thrown_at = calls});
  };
  switch (failure) {
    case Failure::unsolved:
      return finding(FindingKind::unsolved, what);
    case Failure::memory:
      return finding(FindingKind::memory,
                     text("rank ", rank, " asked for more memory than the ",
                          limits.memory_bytes >> 20, " MiB it may have (", what, ")"));
    case Failure::crash:
      return finding(FindingKind::crash, text("rank ", rank, " threw: ", what));
    case Failure::foreign_thread:
      return finding(FindingKind::crash, text("rank ", rank, " ", what));
  }
}

void ProcessHost::State::lost(int rank) {
  read_output(rank);
  if (player(rank).bad_end) return;
  Finding finding = player(rank).child.how_it_ended(rank);
  finding.where = player(rank).last_call;
  if (!finding.where.empty()) finding.message += "; its last call was at " + finding.where;
  ends_badly(rank, std::move(finding));
}

}  // namespace lockstep::sim
