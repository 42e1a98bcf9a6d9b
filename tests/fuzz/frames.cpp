// What a player may send: frames, split as they come, in any order and number, to a host and a core
// that must refuse what makes no sense and never crash. The first byte chooses the number of ranks;
// who sends a frame is part of its strand's number. What is heard and what the core answers is
// written to a line once more, and arrives unchanged.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "engine/sim/core.hpp"
#include "engine/sim/frame.hpp"
#include "tests/fuzz/expect.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::sim;
using test::expect;

constexpr std::int64_t frame_bytes_max = 1 << 20;
constexpr int steps_max = 1000;

// A file without a name stands for the socket.
int line_with(const std::uint8_t* data, std::size_t size) {
  static const int line = ::memfd_create("line", 0);
  expect(::ftruncate(line, 0) == 0 && ::pwrite(line, data, size, 0) >= 0 &&
         ::lseek(line, 0, SEEK_SET) == 0);
  return line;
}

// The frame, number 0 of its side, as the other side reads it.
IncomingFrame across(OutgoingFrame frame) {
  static const int line = ::memfd_create("other line", 0);
  expect(::ftruncate(line, 0) == 0 && ::lseek(line, 0, SEEK_SET) == 0);
  expect(frame.send(line, LineEnd::player) && ::lseek(line, 0, SEEK_SET) == 0);
  FrameReader reader(2 * frame_bytes_max);
  expect(reader.read(line) == FrameReader::State::complete);
  return reader.take();
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void expect_request_arrives(const Request& request, const IncomingFrame& frame) {
  expect(same(across(OutgoingFrame(frame.header.strand, 0, request)).bytes(), frame.bytes()));
}

void expect_replies_arrive(const std::vector<Core::Resume>& resumes) {
  for (const auto& [actor, reply] : resumes) {
    const IncomingFrame frame = across(OutgoingFrame(actor.strand, 0, reply));
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
  const int line = line_with(data + 1, size - 1);
  FrameReader reader(frame_bytes_max);
  try {
    for (int step = 0; step < steps_max && !core.finding() && !core.finished(); ++step) {
      if (core.quiet()) {
        expect_replies_arrive(core.advance());
      } else if (reader.read(line) == FrameReader::State::complete) {
        tell(core, reader.take());
      } else {
        break;
      }
    }
  } catch (const Error&) {  // the rank's finding: it broke its line
  }
  return 0;
}
