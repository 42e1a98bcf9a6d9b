// What a player may send: frames, split as they come, in any order and number, to a host and a core
// that must refuse what makes no sense and never crash. The first byte chooses the number of ranks
// and the size of the pieces; who sends a frame is part of its strand's number. What is heard and
// what the core answers is sent once more, and arrives unchanged.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/sim/core/core.hpp"
#include "engine/sim/hosts/frame.hpp"
#include "engine/sim/wire/printable.hpp"
#include "tests/fuzz/expect.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::sim;
using test::expect;

constexpr std::int64_t frame_bytes_max = 1 << 20;
constexpr int steps_max = 1000;

// The two ends of a line between a host and a player; neither waits.
class Line {
 public:
  Line() { expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()) == 0); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    for (const int end : ends_) ::close(end);
  }
  int host() const { return ends_[0]; }
  int player() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{};
};

// A player that writes what it was given in pieces, and then leaves.
class Stranger {
 public:
  Stranger(std::span<const std::uint8_t> bytes, std::size_t piece) : rest_(bytes), piece_(piece) {}

  // The next frame; nothing when the line ended before it did.
  std::optional<IncomingFrame> next() {
    while (true) {
      switch (reader_.read(line_.host())) {
        case FrameReader::State::complete:
          return reader_.take();
        case FrameReader::State::closed:
          return std::nullopt;
        case FrameReader::State::would_block:
          write_on();
      }
    }
  }

 private:
  void write_on() {
    const ssize_t count = ::write(line_.player(), rest_.data(), std::min(piece_, rest_.size()));
    expect(count >= 0);
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    if (rest_.empty()) ::shutdown(line_.player(), SHUT_WR);
  }

  std::span<const std::uint8_t> rest_;
  std::size_t piece_;
  Line line_;
  FrameReader reader_{frame_bytes_max};
};

// The frame, number 0 of its side, as the other side reads it.
IncomingFrame across(OutgoingFrame frame, LineEnd from) {
  static const Line line;  // read to its end each time
  const int out = from == LineEnd::host ? line.host() : line.player();
  const int in = from == LineEnd::host ? line.player() : line.host();
  FrameReader reader(2 * frame_bytes_max);
  bool sent = false;
  for (auto state = FrameReader::State::would_block; state != FrameReader::State::complete;) {
    sent = sent || frame.send(out, from);
    state = reader.read(in);
    expect(state != FrameReader::State::closed);
  }
  return reader.take();
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void expect_request_arrives(const Request& request, const IncomingFrame& frame) {
  expect(same(across(OutgoingFrame(frame.header.strand, 0, request), LineEnd::player).bytes(),
              frame.bytes()));
}

void expect_replies_arrive(const std::vector<Core::Resume>& resumes) {
  for (const auto& [actor, reply] : resumes) {
    const IncomingFrame frame = across(OutgoingFrame(actor.strand, 0, reply), LineEnd::host);
    expect(frame.header.kind == FrameKind::reply && frame.header.strand == actor.strand);
    ByteReader in(frame.bytes());
    const Reply heard = read_reply(in, frame.body);
    expect(in.done() && heard.status == reply.status && heard.error == reply.error);
    expect(heard.handle == reply.handle && heard.group == reply.group);
    expect(heard.rank == reply.rank && heard.size == reply.size);
    expect(same(heard.data.bytes, reply.data.bytes));
  }
}

// As process_host.cpp does, but for the rank's own state.
void tell(Core& core, const IncomingFrame& frame) {
  const int rank = frame.header.strand % core.ranks();
  const Actor actor{rank, frame.header.strand / core.ranks()};
  Heard heard = heard_in(frame);
  switch (frame.header.kind) {
    case FrameKind::request:
      expect_request_arrives(heard.request, frame);
      core.ask(actor, std::move(heard.request));
      break;
    case FrameKind::strand_started:
      core.start(actor, {rank, heard.other}, printable(heard.text, 40));
      break;
    case FrameKind::strand_woken:
      core.wake({rank, heard.other}, actor);
      break;
    case FrameKind::strand_ended:
      core.end(actor);
      break;
    case FrameKind::threw:
      core.threw(rank, printable(heard.text, 40));
      break;
    case FrameKind::gave_up:
      core.give_up(rank, heard.text);
      break;
    case FrameKind::failed:
      core.lose(rank, heard.text);
      break;
    default:
      core.end({rank, 0});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Options options;
  options.ranks = 1 + data[0] % 4;
  Core core(options);
  Stranger stranger({data + 1, size - 1}, data[0] < 128 ? 1 << 16 : 1 + data[0] % 32);
  try {
    for (int step = 0; step < steps_max && !core.finding() && !core.finished(); ++step) {
      if (core.quiet()) {
        expect_replies_arrive(core.advance());
      } else if (const auto frame = stranger.next()) {
        tell(core, *frame);
      } else {
        break;
      }
    }
  } catch (const Error&) {  // the rank's finding: it broke its line
  }
  return 0;
}
