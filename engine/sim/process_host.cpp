// The host's loop: read what players say, tell the core, and pass its answers on. One thread, never
// blocked but in poll, which has a deadline.
//
// A player's state: it is *running* while one of its strands is not blocked (its idle clock ticks),
// *blocked* while the core holds a request of each, *done* when its result is there. A frame that
// does not fit the state is as good as noise: the verdict is crash, of that rank alone.
#include "engine/sim/process_host.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <deque>

#include "engine/sim/child_process.hpp"
#include "engine/sim/frame.hpp"

namespace lockstep::sim {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// A player that waits for a processor is not idle: when it could run, but got less than half of the
// time, the limit is stretched up to this often.
constexpr double starved_stretch = 4;
constexpr int frames_at_once = 256;  // of one player, before the others and the clock have a turn
constexpr std::size_t text_max = 4000;  // of an exception
constexpr std::size_t name_max = 40;    // of a strand

struct Player {
  Player(const std::vector<std::string>& command, const PlayerLimits& limits, Surroundings where)
      : child(command, limits, where), reader(limits.frame_bytes_max) {}

  ChildProcess child;
  FrameReader reader;
  std::deque<OutgoingFrame> outgoing;
  std::uint32_t sequence = 0;
  bool output_open = true;  // it may close its ends

  // Of the case at hand:
  int running = 0;  // strands that are not blocked
  bool done = false;
  std::string output;
  std::int64_t output_bytes = 0;
  std::string last_call;    // its place, of any strand
  Clock::time_point heard;  // when it last said something, or was told to go on
  double cpu_s = 0;         // at that time
};

}  // namespace

struct ProcessHost::State {
  std::vector<std::string> command;
  PlayerLimits limits;
  std::vector<Player> players;
  bool usable = true;

  // One run.
  Core* core = nullptr;
  CaseResult result;
  int ranks = 0;

  void found(Finding finding) {
    if (!result.finding) result.finding = std::move(finding);
  }
  void no_frame(int rank, const std::string& why) {
    found(
        {Verdict::crash,
         text("rank ", rank, " broke its line to the lab: what came is no frame (", why,
              "); was fd 3 written to, memory overwritten, or a std::thread started where a strand "
              "belongs?"),
         {rank},
         {}});
  }
  Player& player(int rank) { return players[static_cast<std::size_t>(rank)]; }

  void give_cases(const std::vector<Bytes>& inputs);
  void wait_for_players();
  void drive_core();
  void post(int rank, OutgoingFrame frame);
  void flush(int rank);
  void hear(int rank);
  void take(int rank, const IncomingFrame& frame);
  void take_failure(int rank, const IncomingFrame& frame);
  void read_output(int rank);
  void check_idle(int rank, Clock::time_point now);
  void found_silent(int rank, double silent_s);
  void found_too_long();
  void lost(int rank);
};

ProcessHost::ProcessHost(std::vector<std::string> command, int players, const PlayerLimits& limits,
                         const std::optional<DebuggedPlayer>& debugged)
    : state_(std::make_unique<State>()) {
  LOCKSTEP_CHECK(players >= 1, "a host needs at least one player, not ", players);
  state_->command = std::move(command);
  state_->limits = limits;
  state_->players.reserve(static_cast<std::size_t>(players));
  for (int i = 0; i < players; ++i) {
    if (!debugged || debugged->rank != i) {
      state_->players.emplace_back(state_->command, limits, Surroundings::none);
      continue;
    }
    std::vector<std::string> words = debugged->command;
    words.insert(words.end(), state_->command.begin(), state_->command.end());
    state_->players.emplace_back(words, limits, Surroundings::the_labs);
  }
  for (auto& player : state_->players) player.child.await_start(state_->command);
}

ProcessHost::~ProcessHost() = default;

bool ProcessHost::usable() const { return state_->usable; }

CaseResult ProcessHost::run(Core& core, const std::vector<Bytes>& inputs) {
  State& state = *state_;
  LOCKSTEP_CHECK(state.usable, "run: a case has failed in this host; make a new one");
  LOCKSTEP_CHECK(std::cmp_less_equal(core.ranks(), state.players.size()), "run: ", core.ranks(),
                 " ranks, but only ", state.players.size(), " players");
  LOCKSTEP_CHECK(std::cmp_equal(inputs.size(), core.ranks()), "run: ", inputs.size(),
                 " inputs for ", core.ranks(), " ranks");
  state.core = &core;
  state.ranks = core.ranks();
  state.result = {};
  state.result.results.resize(inputs.size());
  state.give_cases(inputs);
  const auto begin = Clock::now();
  const auto over = [&] { return core.finished() || state.result.finding.has_value(); };
  while (!over()) {
    if (core.quiet()) {
      state.drive_core();
    } else {
      state.wait_for_players();
    }
    if (seconds_between(begin, Clock::now()) > state.limits.case_s) state.found_too_long();
  }
  if (core.finding()) state.found(*core.finding());  // what is left over at the end
  for (int rank = 0; rank < state.ranks; ++rank) {
    state.read_output(rank);
    state.result.output.push_back(
        printable(state.player(rank).output, static_cast<std::size_t>(state.limits.output_bytes)));
  }
  if (state.result.finding) {
    state.usable = false;
    state.players.clear();
  }
  state.core = nullptr;
  return std::exchange(state.result, {});
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
    to.heard = now;
    to.cpu_s = to.child.cpu_s();
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
  if (core->finding()) return found(*core->finding());
  const auto now = Clock::now();
  for (auto& [actor, reply] : resumes) {
    Player& to = player(actor.rank);
    if (to.running++ == 0) {
      to.heard = now;
      to.cpu_s = to.child.cpu_s();
    }
    post(actor.rank, OutgoingFrame(actor.strand, to.sequence++, reply));
  }
}

void ProcessHost::State::wait_for_players() {
  std::vector<pollfd> events;
  for (int rank = 0; rank < ranks; ++rank) {
    const Player& of = player(rank);
    const short writing = of.outgoing.empty() ? 0 : POLLOUT;
    events.push_back({of.child.socket(), static_cast<short>(POLLIN | writing), 0});
    events.push_back({of.output_open ? of.child.output() : -1, POLLIN, 0});
  }
  // Often enough to see idleness soon after its limit.
  const int timeout_ms = static_cast<int>(std::ceil(limits.idle_s * 1000 / 10)) + 1;
  if (poll(events.data(), events.size(), timeout_ms) < 0 && errno != EINTR) {
    throw Error("the lab cannot wait for its players: poll failed");
  }
  const auto now = Clock::now();
  for (int rank = 0; rank < ranks && !result.finding; ++rank) {
    const short socket = events[static_cast<std::size_t>(2 * rank)].revents;
    if (events[static_cast<std::size_t>(2 * rank + 1)].revents & (POLLIN | POLLHUP))
      read_output(rank);
    if (socket & POLLOUT) flush(rank);
    if (socket & (POLLIN | POLLHUP | POLLERR)) hear(rank);
    if (!result.finding) check_idle(rank, now);
  }
}

void ProcessHost::State::post(int rank, OutgoingFrame frame) {
  player(rank).outgoing.push_back(std::move(frame));
  if (player(rank).outgoing.size() == 1) flush(rank);
}

void ProcessHost::State::flush(int rank) {
  auto& outgoing = player(rank).outgoing;
  try {
    while (!outgoing.empty() && outgoing.front().send(player(rank).child.socket(), MSG_DONTWAIT)) {
      outgoing.pop_front();
    }
  } catch (const Error&) {
    lost(rank);
  }
}

void ProcessHost::State::hear(int rank) {
  Player& from = player(rank);
  try {
    for (int frames = 0; frames < frames_at_once && !result.finding; ++frames) {
      switch (from.reader.read(from.child.socket(), MSG_DONTWAIT)) {
        case FrameReader::State::would_block:
          return;
        case FrameReader::State::closed:
          return lost(rank);
        case FrameReader::State::complete:
          take(rank, from.reader.take());
      }
    }
  } catch (const Error& error) {  // of the frame, or of the core: it makes no sense
    no_frame(rank, error.what());
  }
}

void ProcessHost::State::take(int rank, const IncomingFrame& frame) {
  Player& from = player(rank);
  from.heard = Clock::now();
  from.cpu_s = from.child.cpu_s();
  if (from.done) throw Error("it came after the result");
  const Actor actor{rank, frame.header.strand};
  ByteReader in(frame.bytes());
  switch (frame.header.kind) {
    case FrameKind::request: {
      Request request = read_request(in, frame.body);
      if (!in.done()) throw Error("bytes are left over");
      if (!request.file.empty()) from.last_call = place_of(request.file, request.line);
      if (request.op == Op::isend || request.op == Op::irecv) {
        const auto reply = core->ask_and_go_on(actor, std::move(request));
        if (reply) post(rank, OutgoingFrame(actor.strand, from.sequence++, *reply));
        if (!reply) --from.running;
        break;
      }
      core->ask(actor, std::move(request));
      --from.running;
      break;
    }
    case FrameKind::strand_started: {
      const Actor parent{rank, in.get<int>()};
      core->start(actor, parent, printable(in.get_text(), name_max));
      ++from.running;
      break;
    }
    case FrameKind::strand_woken:  // it runs when the core hands its answer out
      core->wake({rank, in.get<int>()}, actor);
      break;
    case FrameKind::strand_ended:
      if (actor.strand == 0) throw Error("the main strand ends with a result");
      core->end(actor);
      --from.running;
      break;
    case FrameKind::result: {
      const auto bytes = frame.bytes();
      core->end({rank, 0});
      if (--from.running != 0) throw Error("a result while a strand is running");
      from.done = true;
      result.results[static_cast<std::size_t>(rank)].assign(bytes.begin(), bytes.end());
      break;
    }
    case FrameKind::failed:
      take_failure(rank, frame);
      break;
    default:
      throw Error(text("kind ", static_cast<int>(frame.header.kind)));
  }
  if (core->finding()) found(*core->finding());
}

void ProcessHost::State::take_failure(int rank, const IncomingFrame& frame) {
  ByteReader in(frame.bytes());
  const auto kind = in.get<Failure>();
  const std::string what = printable(in.get_text(), text_max);
  switch (kind) {
    case Failure::unsolved:
      return found({Verdict::unsolved, what, {rank}, {}});
    case Failure::memory:
      return found({Verdict::memory,
                    text("rank ", rank, " asked for more memory than the ",
                         limits.memory_bytes >> 20, " MiB it may have (", what, ")"),
                    {rank},
                    {}});
    case Failure::crash:
      return found({Verdict::crash, text("rank ", rank, " threw: ", what), {rank}, {}});
  }
  throw Error("a failure of no known kind");
}

void ProcessHost::State::lost(int rank) {
  if (result.finding) return;
  read_output(rank);
  if (result.finding) return;
  Finding finding = player(rank).child.how_it_ended(rank);
  finding.where = player(rank).last_call;
  if (!finding.where.empty()) finding.message += "; its last call was at " + finding.where;
  found(std::move(finding));
}

void ProcessHost::State::read_output(int rank) {
  Player& from = player(rank);
  std::array<char, 4096> buffer;
  ssize_t count;
  while ((count = ::read(from.child.output(), buffer.data(), buffer.size())) > 0) {
    from.output_bytes += count;
    const auto room = limits.output_bytes - static_cast<std::int64_t>(from.output.size());
    from.output.append(buffer.data(),
                       static_cast<std::size_t>(std::min<std::int64_t>(room, count)));
    if (from.output_bytes > limits.output_bytes) {
      return found({Verdict::output,
                    text("rank ", rank, " printed more than ", limits.output_bytes,
                         " bytes in one case: does it print inside a loop?"),
                    {rank},
                    {}});
    }
  }
  if (count == 0) from.output_open = false;
}

void ProcessHost::State::check_idle(int rank, Clock::time_point now) {
  const Player& of = player(rank);
  if (of.done || of.running == 0) return;
  const double silent_s = seconds_between(of.heard, now);
  if (silent_s < limits.idle_s) return;
  const bool starved = of.child.cpu_s() - of.cpu_s < limits.idle_s / 2;
  if (starved && !of.child.asleep() && silent_s < limits.idle_s * starved_stretch) return;
  found_silent(rank, silent_s);
}

void ProcessHost::State::found_silent(int rank, double silent_s) {
  const Player& of = player(rank);
  const std::string silent = text(std::round(silent_s * 10) / 10, " s",
                                  of.last_call.empty() ? "" : " since its call at ", of.last_call);
  found({Verdict::time,
         of.child.asleep()
             ? text("rank ", rank, " slept for ", silent,
                    ", outside the lab's own operations: it waits for something that does not "
                    "come, such as a lock it holds, a thread, or a long sleep")
             : text("rank ", rank, " ran for ", silent,
                    " without communicating or returning: an endless loop?"),
         {rank},
         of.last_call});
}

// Who was silent for most of the time is the one; otherwise all are busy with each other.
void ProcessHost::State::found_too_long() {
  const auto now = Clock::now();
  for (int rank = 0; rank < ranks; ++rank) {
    const Player& of = player(rank);
    const double silent_s = seconds_between(of.heard, now);
    if (!of.done && of.running > 0 && silent_s > limits.case_s / 2) {
      return found_silent(rank, silent_s);
    }
  }
  found({Verdict::time,
         text("the ranks were still busy after ", limits.case_s,
              " s of one case: an endless exchange?"),
         {},
         {}});
}

}  // namespace lockstep::sim
