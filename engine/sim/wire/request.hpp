// The language between a rank and the core: a strand asks, is blocked, and is answered. The same
// for ranks that are fibers of one thread and for ranks that are processes behind a socket.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "engine/sim/wire/collective_kinds.hpp"

namespace lockstep::sim {

// The strand that asks: one strand of one rank. Strand 0 is the rank's main program. Ranks are
// global here.
struct Actor {
  int rank = 0;
  int strand = 0;
  auto operator<=>(const Actor&) const = default;
};

enum class Op : std::uint16_t {
  send,
  recv,  // blocking; send is a rendezvous: answered when the receive is posted
  isend,
  irecv,        // answered at once with a handle
  wait,         // on a handle; irecv's data come with its answer
  collective,   // blocking native collective, priced by the core
  icollective,  // answered at once with a handle
  split,        // new group
  compute,      // charges `seconds` to the strand's clock
  service,      // anything the trusted side serves: store, items, scripted events
  join,         // waits until strand `handle` of the same rank has ended; with a count of 1, only
                // as long as something else can go on
  pause,        // waits until another strand of the same rank wakes this one
  until,        // waits until the strand's clock is `seconds`
};
std::string_view name_of(Op op);

// Bytes and whoever keeps them alive. Empty bytes with a non-zero count: a symbolic message.
struct Payload {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
Payload payload_of(Bytes bytes);

struct Request {
  Op op = Op::compute;
  Collective collective = Collective::barrier;
  DType dtype = DType::float32;
  ReduceOp reduce = ReduceOp::sum;
  std::uint32_t group = 0;  // 0 is the world
  int peer = -1;            // group rank: destination, source or root
  int tag = 0;
  // Elements: sent, expected, or of the share of one rank in a collective (of reduce_scatter what a
  // rank gets, of all_to_all nothing).
  std::int64_t count = 0;
  // all_gather with unequal shares: the count of each rank. all_to_all, always: to each rank, then
  // from each rank.
  std::vector<std::int64_t> counts;
  std::uint64_t handle = 0;    // wait; join: the strand
  std::uint64_t checksum = 0;  // of the buffer: at irecv (and where no data are sent), and at wait
  double seconds = 0;          // compute
  int color = 0, key = 0;      // split
  std::string name;            // service: which one
  Payload data;                // what is sent; a service's argument
  std::string file;            // the caller's line, for diagnoses
  int line = 0;
};

enum class Status : std::uint8_t { ok, failed };

struct Reply {
  Status status = Status::ok;
  std::string error;         // when failed: one sentence
  Payload data;              // what was received or served
  std::uint64_t handle = 0;  // isend, irecv, icollective
  std::uint32_t group = 0;   // split: the new group …
  int rank = -1, size = 0;   // … and this rank's place in it (-1: not a member)
  double ran_s = 0;          // a collective, or what was received: how long it ran, without waiting
  double now = 0;            // the strand's virtual time
};

// The part of a Request that messages have, without anything that it owns: what ranks ask most. A
// wait has op, handle, checksum, into, group, file and line.
struct Message {
  Op op = Op::send;
  DType dtype = DType::float32;
  std::uint32_t group = 0;
  int peer = -1;
  int tag = 0;
  std::int64_t count = 0;
  std::uint64_t handle = 0;
  std::uint64_t checksum = 0;
  std::span<const std::byte> data{};  // send, isend
  std::span<std::byte> into{};        // recv, wait: room for what is received
  const char* file = "";
  int line = 0;
};
Request request_of(const Message& message);

// The answer to a Message. `error` stays valid until the strand asks again.
struct Answer {
  const std::string* error = nullptr;  // when it failed: one sentence
  std::uint64_t handle = 0;            // isend, irecv
  std::size_t received = 0;            // recv, wait: bytes; they lie in `into`, if that has as many
  double ran_s = 0;                    // as of a Reply
};

// A rank's end of the line. call() blocks the calling strand until the core answers. The request's
// data need to stay only until call() returns: a port whose core may keep them longer copies them.
class Port {
 public:
  virtual ~Port() = default;
  virtual Reply call(const Request& request) = 0;
  // The same for a message.
  virtual Answer call(const Message& message);

  // The calling strand computed for so long: its clock goes on. A port may add up what it is told
  // until the strand asks for something else, so that this costs little however often it is called.
  virtual void compute(double seconds);
  // The calling strand's clock, with all that it was charged.
  virtual double now_s();
  // The calling strand has nothing to do before that moment: its clock goes on to it.
  virtual void wait_until(double time_s);

 private:
  std::string error_;
};

// Limits of a request besides its data, in bytes: the name of a service or a source file, and the
// counts of all ranks.
constexpr std::size_t names_max = 4 << 10;
constexpr std::size_t counts_bytes_max = 64 << 10;

// Request and Reply as bytes, for hosts that cross a process boundary: put_bytes(data), so that the
// elements lie at offset 8 and stay aligned, then the other fields (write_fields; a host that sends
// the data from where they are uses it alone). Reading throws Error on anything malformed and never
// allocates more than the bytes that are there; data are views into what `owner` keeps alive.
void write(ByteWriter& out, const Request& request);
void write(ByteWriter& out, const Reply& reply);
void write_fields(ByteWriter& out, const Request& request);
void write_fields(ByteWriter& out, const Reply& reply);
Request read_request(ByteReader& in, std::shared_ptr<const void> owner);
Reply read_reply(ByteReader& in, std::shared_ptr<const void> owner);

}  // namespace lockstep::sim
