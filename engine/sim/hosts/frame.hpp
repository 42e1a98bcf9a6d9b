// Frames on the socket between a host and a player: {u32 length; u16 kind; u16 strand;
// u32 sequence} little-endian, then `length` bytes. Internal to engine/sim.
//
// Each side numbers what it sends from 0 on. Bodies:
//   give_case       i32 rank, i32 ranks, then the input
//   reply           a Reply (request.hpp), to `strand`
//   request         a Request, from `strand`
//   strand_started  `strand` starts: i32 parent
//   strand_ended    `strand` ends: nothing
//   result          the result of the case
//   gave_up         why the rank goes on no more, then the result of the case
//   failed          u8 Failure, then the text
//   threw           the text of an exception that did not end the rank
//
// Every length within has a cap of its own, whatever the frame's: names_max, counts_bytes_max and
// text_max.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/sim/wire/request.hpp"

namespace lockstep::sim {

enum class FrameKind : std::uint16_t {
  give_case = 1,
  reply = 2,
  request = 16,
  strand_started = 17,
  strand_ended = 18,
  result = 19,
  failed = 20,
  strand_woken = 21,
  gave_up = 22,
  threw = 23,
};

enum class Failure : std::uint8_t { unsolved, memory, crash, foreign_thread };

struct FrameHeader {
  std::uint32_t length = 0;
  FrameKind kind = FrameKind::request;
  std::uint16_t strand = 0;
  std::uint32_t sequence = 0;
};
static_assert(sizeof(FrameHeader) == 12);

constexpr std::size_t text_max = 64 << 10;  // bytes: why a rank gave up, what it threw

// A player only writes and reads: its filter knows no other way to use the line, and a broken one
// is its own end. The host never waits, and a player that is gone must not end it.
enum class LineEnd : unsigned char { player, host };

// A frame on its way out. The data of a request or reply are sent from where they lie.
class OutgoingFrame {
 public:
  OutgoingFrame(FrameKind kind, int strand, std::uint32_t sequence, Payload body);
  OutgoingFrame(int strand, std::uint32_t sequence, const Request& request);
  OutgoingFrame(int strand, std::uint32_t sequence, const Reply& reply);

  // Sends what the socket takes. True when all of it is out; false when the socket would block.
  // Throws Error when the other side is gone.
  bool send(int socket, LineEnd from);

 private:
  OutgoingFrame(FrameKind kind, int strand, std::uint32_t sequence, Payload data, Bytes tail,
                Bytes prefix);
  Bytes head_;  // the header, and the length of the data
  Payload data_;
  Bytes tail_;  // the other fields
  std::size_t sent_ = 0;
};

// A frame on its way in, read as it comes.
struct IncomingFrame {
  FrameHeader header;
  std::shared_ptr<std::byte[]> body;  // aligned for every element type

  std::span<const std::byte> bytes() const { return {body.get(), header.length}; }
};

// The contents of a player's frame, by its kind.
struct Heard {
  Request request;                    // request
  int other = 0;                      // strand_started: the parent; strand_woken: who is woken
  std::string text;                   // strand_started: the name; gave_up: why; else the text
  Failure failure{};                  // failed
  std::vector<std::uint64_t> calls;   // failed: those that led to a throw, 64 at most
  std::span<const std::byte> result;  // result, gave_up; of the frame's bytes
};
// Throws Error on a kind that is no player's, and on anything malformed.
Heard heard_in(const IncomingFrame& frame);

class FrameReader {
 public:
  explicit FrameReader(std::int64_t length_max) : length_max_(length_max) {}

  enum class State { complete, would_block, closed };
  // Reads on; a host's socket does not block. After `complete`, take() hands the frame out. Throws
  // Error, as "…(length 4294967295)", on a frame that is too long or out of sequence, before
  // allocating.
  State read(int socket);
  IncomingFrame take();

  // One call of the system reads all that is there, in most cases a whole frame and sometimes more
  // than one.
  bool holds_more() const { return begin_ != end_; }
  // True if the socket held no more when it was last read, and nothing of that is left here.
  bool drained() const { return drained_ && !holds_more(); }

 private:
  std::int64_t length_max_;
  IncomingFrame frame_;
  std::size_t got_ = 0;  // bytes of header and body
  std::uint32_t sequence_ = 0;
  std::array<std::byte, 4096> buffer_;  // read, and not yet part of a frame from begin_ to end_
  std::size_t begin_ = 0, end_ = 0;
  bool drained_ = false;
};

}  // namespace lockstep::sim
