// ProcessGroup over a Port: each operation is one request to the core, asynchronous ones are two.
//
// A buffer in flight is watched by its checksum, taken when the operation starts and again when it
// is waited for; the core compares. What was received is written when wait() returns, not before.
#include "engine/comm/sim.hpp"

#include <cstring>

namespace lockstep::comm {

namespace {

using sim::Op;
using sim::Reply;
using sim::Request;

Reply ask(sim::Port& port, const Request& request) {
  Reply reply = port.call(request);
  if (reply.status != sim::Status::ok) throw CommError(reply.error);
  return reply;
}

Request request_of(Op op, std::uint32_t group, const Where& where) {
  Request request;
  request.op = op;
  request.group = group;
  request.file = where.file_name();
  request.line = static_cast<int>(where.line());
  return request;
}

// What travels of a tensor: its elements, or none of a symbolic one, whose message has a size and a
// price only.
std::span<std::byte> wire_bytes_of(const Tensor& tensor) {
  return tensor.device().has_numbers() ? tensor.raw_bytes() : std::span<std::byte>();
}

void take_data(const Reply& reply, const Tensor& into) {
  if (!into.device().has_numbers()) return;
  const auto from = reply.data.bytes;
  const auto to = into.raw_bytes();
  if (from.size() != to.size()) {
    throw CommError(text("received ", from.size(), " bytes for a tensor of ", to.size(),
                         "; do all ranks hold real numbers, or some only shapes?"));
  }
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}

std::uint64_t checksum_of(const Tensor& tensor) {
  return tensor.defined() ? lockstep::checksum_of(wire_bytes_of(tensor)) : 0;
}

// `watched` must not change until wait(); `result`, where defined, is written then.
class SimPending final : public Pending {
 public:
  SimPending(sim::Port& port, Request wait, Tensor watched, Tensor result)
      : port_(port),
        wait_(std::move(wait)),
        watched_(std::move(watched)),
        result_(std::move(result)) {}

  void wait() override {
    wait_.checksum = checksum_of(watched_);
    const Reply reply = ask(port_, wait_);
    if (result_.defined()) take_data(reply, result_);
  }

 private:
  sim::Port& port_;
  Request wait_;
  Tensor watched_, result_;
};

class SimGroup final : public ProcessGroup {
 public:
  SimGroup(sim::Port& port, std::uint32_t group, int rank, int size)
      : ProcessGroup(rank, size), port_(port), group_(group) {}

  std::string_view backend() const override { return "sim"; }
  Traffic traffic() const override { return traffic_; }

 private:
  Request message(Op op, const Tensor& data, int peer, int tag, const Where& where) const {
    Request request = request_of(op, group_, where);
    request.peer = peer;
    request.tag = tag;
    request.count = data.numel();
    request.dtype = data.dtype();
    return request;
  }

  Request sending(Op op, const Tensor& data, int dst, int tag, const Where& where) {
    Request request = message(op, data, dst, tag, where);
    request.data.bytes = wire_bytes_of(data);  // the port reads them before call() returns
    traffic_.bytes_sent += static_cast<std::int64_t>(data.bytes());
    ++traffic_.messages_sent;
    return request;
  }

  // Asks for an operation that is answered with a handle, to be waited for.
  Work start_request(Request request, Tensor watched, Tensor result, const Where& where) {
    // Of data that are sent the core takes the checksum itself.
    if (request.data.bytes.empty()) request.checksum = checksum_of(watched);
    Request wait = request_of(Op::wait, group_, where);
    wait.handle = ask(port_, request).handle;
    return Work(std::make_unique<SimPending>(port_, std::move(wait), std::move(watched),
                                             std::move(result)));
  }

  void send_now(const Tensor& data, int dst, int tag, const Where& where) override {
    ask(port_, sending(Op::send, data, dst, tag, where));
  }
  void recv_now(Tensor data, int src, int tag, const Where& where) override {
    take_data(ask(port_, message(Op::recv, data, src, tag, where)), data);
  }
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override {
    return start_request(sending(Op::isend, data, dst, tag, where), data, {}, where);
  }
  Work start_recv(Tensor data, int src, int tag, const Where& where) override {
    return start_request(message(Op::irecv, data, src, tag, where), data, data, where);
  }

  Work start(const Collective& c, const Where& where) override {
    Request request = request_of(Op::icollective, group_, where);
    request.collective = c.kind;
    if (c.kind == CollectiveKind::barrier) {
      request.op = Op::collective;
      ask(port_, request);
      return {};
    }
    request.reduce = c.op;
    request.peer = c.root;
    request.dtype = c.dtype();
    request.count = c.count(size());
    if (c.kind == CollectiveKind::all_gather) request.counts = c.output_counts;
    if (c.kind == CollectiveKind::all_to_all) {
      request.count = 0;
      for (const auto& [counts, whole] :
           {std::pair(&c.input_counts, &c.input), std::pair(&c.output_counts, &c.output)}) {
        for (int i = 0; i < size(); ++i) {
          request.counts.push_back(part_count(*counts, *whole, i, size()));
        }
      }
    }
    if (c.input.defined()) request.data.bytes = wire_bytes_of(c.input);
    const Sent sent = modelled_sent(c, rank(), size());
    traffic_.bytes_sent += sent.bytes;
    traffic_.messages_sent += sent.messages;
    traffic_.modelled = true;
    const bool listens = !c.input.defined();
    return start_request(std::move(request), listens ? c.output : c.input, c.output, where);
  }

  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override {
    Request request = request_of(Op::split, group_, where);
    request.color = color;
    request.key = key;
    const Reply reply = ask(port_, request);
    if (reply.rank < 0) return nullptr;
    return std::make_unique<SimGroup>(port_, reply.group, reply.rank, reply.size);
  }

  sim::Port& port_;
  std::uint32_t group_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<ProcessGroup> make_sim_group(sim::Port& port, int rank, int size) {
  return std::make_unique<SimGroup>(port, 0, rank, size);
}

}  // namespace lockstep::comm
