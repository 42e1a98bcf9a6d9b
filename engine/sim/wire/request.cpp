// Requests and replies as bytes. The reader takes nothing for granted: enumerators are checked
// against their last value, lengths against what is there.
#include "engine/sim/wire/request.hpp"

#include <array>
#include <cstring>

namespace lockstep::sim {

namespace {

constexpr std::array<std::string_view, 13> op_names = {
    "send",  "recv",    "isend",   "irecv", "wait",  "collective", "icollective",
    "split", "compute", "service", "join",  "pause", "until"};

template <typename Enum>
Enum get_enum(ByteReader& in, Enum last, const char* what) {
  const auto value = in.get<std::underlying_type_t<Enum>>();
  if (value > static_cast<std::underlying_type_t<Enum>>(last)) {
    throw Error(text("malformed message: ", what, " ", static_cast<int>(value), " is unknown"));
  }
  return static_cast<Enum>(value);
}

}  // namespace

std::string_view name_of(Op op) { return op_names.at(static_cast<std::size_t>(op)); }

Answer Port::call(const Message& message) {
  Reply reply = call(request_of(message));
  if (reply.status != Status::ok) {
    error_ = std::move(reply.error);
    return {&error_, 0, 0, 0};
  }
  const auto received = reply.data.bytes;
  if (!received.empty() && received.size() == message.into.size()) {
    std::memcpy(message.into.data(), received.data(), received.size());
  }
  return {nullptr, reply.handle, received.size(), reply.ran_s};
}

Request request_of(const Message& message) {
  Request request;
  request.op = message.op;
  request.dtype = message.dtype;
  request.group = message.group;
  request.peer = message.peer;
  request.tag = message.tag;
  request.count = message.count;
  request.handle = message.handle;
  request.checksum = message.checksum;
  request.data.bytes = message.data;
  request.file = message.file;
  request.line = message.line;
  return request;
}

namespace {

Reply ask_time(Port& port, Op op, double seconds) {
  Request request;
  request.op = op;
  request.seconds = seconds;
  Reply reply = port.call(request);
  if (reply.status != Status::ok) throw Error(reply.error);
  return reply;
}

}  // namespace

void Port::compute(double seconds) { ask_time(*this, Op::compute, seconds); }
double Port::now_s() { return ask_time(*this, Op::compute, 0).now; }
void Port::wait_until(double time_s) { ask_time(*this, Op::until, time_s); }

Payload payload_of(Bytes bytes) {
  auto owner = std::make_shared<const Bytes>(std::move(bytes));
  return {std::span<const std::byte>(*owner), owner};
}

void write_fields(ByteWriter& out, const Request& request) {
  out.put(request.op).put(request.collective).put(request.dtype).put(request.reduce);
  out.put(request.group).put(request.peer).put(request.tag).put(request.count);
  out.put(request.handle).put(request.checksum).put(request.seconds);
  out.put(request.color).put(request.key).put(request.line);
  out.put_text(request.name).put_text(request.file);
  out.put_list(std::span<const std::int64_t>(request.counts));
}

void write_fields(ByteWriter& out, const Reply& reply) {
  out.put(reply.status).put(reply.handle).put(reply.group);
  out.put(reply.rank).put(reply.size).put(reply.ran_s).put(reply.now).put_text(reply.error);
}

void write(ByteWriter& out, const Request& request) {
  out.put_bytes(request.data.bytes);
  write_fields(out, request);
}

void write(ByteWriter& out, const Reply& reply) {
  out.put_bytes(reply.data.bytes);
  write_fields(out, reply);
}

Request read_request(ByteReader& in, std::shared_ptr<const void> owner) {
  Request request;
  request.data = {in.get_bytes(), std::move(owner)};
  request.op = get_enum(in, Op::until, "operation");
  request.collective = get_enum(in, Collective::barrier, "collective");
  request.dtype = get_enum(in, all_dtypes.back(), "element type");
  request.reduce = get_enum(in, all_reduce_ops.back(), "reduction");
  request.group = in.get<std::uint32_t>();
  request.peer = in.get<int>();
  request.tag = in.get<int>();
  request.count = in.get<std::int64_t>();
  request.handle = in.get<std::uint64_t>();
  request.checksum = in.get<std::uint64_t>();
  request.seconds = in.get<double>();
  request.color = in.get<int>();
  request.key = in.get<int>();
  request.line = in.get<int>();
  request.name = in.get_text(names_max);
  request.file = in.get_text(names_max);
  request.counts = in.get_list<std::int64_t>(counts_bytes_max);
  return request;
}

Reply read_reply(ByteReader& in, std::shared_ptr<const void> owner) {
  Reply reply;
  reply.data = {in.get_bytes(), std::move(owner)};
  reply.status = get_enum(in, Status::failed, "status");
  reply.handle = in.get<std::uint64_t>();
  reply.group = in.get<std::uint32_t>();
  reply.rank = in.get<int>();
  reply.size = in.get<int>();
  reply.ran_s = in.get<double>();
  reply.now = in.get<double>();
  reply.error = in.get_text();
  return reply;
}

}  // namespace lockstep::sim
