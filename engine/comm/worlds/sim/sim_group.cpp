// ProcessGroup over a Port: each operation is one request to the core, asynchronous ones are two.
//
// A buffer in flight is watched by its checksum, taken when the operation starts and again when it
// is waited for; the core compares. What was received is written when wait() returns, not before.
#include "engine/comm/worlds/sim/sim_group.hpp"

#include <cstring>

#include "engine/tensor/contributors.hpp"

namespace lockstep::comm {

namespace {

using sim::Answer;
using sim::Message;
using sim::Op;
using sim::Reply;
using sim::Request;

Reply ask(sim::Port& port, const Request& request) {
  Reply reply = port.call(request);
  if (reply.status != sim::Status::ok) throw CommError(reply.error);
  return reply;
}

Answer ask(sim::Port& port, const Message& message) {
  const Answer answer = port.call(message);
  if (answer.error != nullptr) throw CommError(*answer.error);
  return answer;
}

template <typename AnyCall>  // a Request or a Message
AnyCall asking(Op op, std::uint32_t group, const Where& where) {
  AnyCall asked;
  asked.op = op;
  asked.group = group;
  asked.file = where.file_name();
  asked.line = static_cast<int>(where.line());
  return asked;
}

// The bytes of a tensor that travel: its elements, or none of a symbolic one, whose message has
// only a size and a price.
std::span<std::byte> wire_bytes_of(const Tensor& tensor) {
  return tensor.device().has_numbers() ? tensor.raw_bytes() : std::span<std::byte>();
}

void check_received(const Answer& answer, const Message& asked) {
  if (answer.received == asked.into.size()) return;
  throw CommError(text("received ", answer.received, " bytes for a tensor of ", asked.into.size(),
                       "; do all ranks hold real numbers, or some only shapes?"));
}

std::uint64_t checksum_of(const Tensor& tensor) {
  return tensor.defined() ? lockstep::checksum_of(wire_bytes_of(tensor)) : 0;
}

// `watched` must not change until wait(); `result`, where defined, is written then.
class SimPending final : public Pending {
 public:
  SimPending(sim::Port& port, Message wait, Tensor watched, Tensor result)
      : port_(port), wait_(wait), watched_(std::move(watched)), result_(std::move(result)) {}

  void wait() override {
    wait_.checksum = checksum_of(watched_);
    if (result_.defined()) wait_.into = wire_bytes_of(result_);
    const Answer answer = ask(port_, wait_);
    if (answer.ran_s > 0) ran_s_ = answer.ran_s;
    if (result_.defined()) check_received(answer, wait_);
  }
  std::optional<double> ran_s() const override { return ran_s_; }

 private:
  sim::Port& port_;
  Message wait_;
  Tensor watched_, result_;
  std::optional<double> ran_s_;  // of a collective, or of a message that came
};

// The sets of contributors that a receive waits for, by its place among those of its route.
class SetsReceipt {
 public:
  SetsReceipt(const Tensor& into, const ContributorWorld::Route& route) : route_(route) {
    const auto* device = contributors_of(into.device());
    if (device == nullptr) return;
    into_ = into;
    world_ = &device->world();
    index_ = world_->expect(route);
  }
  void take() const {
    if (world_ != nullptr) into_.copy_(world_->take(route_, index_));
  }

 private:
  Tensor into_;
  ContributorWorld::Route route_;
  ContributorWorld* world_ = nullptr;
  std::uint64_t index_ = 0;
};

class SetsPending final : public Pending {
 public:
  SetsPending(Work message, SetsReceipt sets)
      : message_(std::move(message)), sets_(std::move(sets)) {}
  void wait() override {
    message_.wait();
    sets_.take();
  }

 private:
  Work message_;
  SetsReceipt sets_;
};

class SimGroup final : public ProcessGroup, private Started {
 public:
  SimGroup(sim::Port& port, std::uint32_t group, int rank, int size, int global_rank,
           PostedRoom posted)
      : ProcessGroup(rank, size, {rank, global_rank}),
        port_(port),
        group_(group),
        global_rank_(global_rank),
        posted_(posted) {}

  std::string_view backend() const override { return "sim"; }
  Traffic traffic() const override { return traffic_; }
  double now_s() const override { return port_.now_s(); }
  void wait_until(double seconds) const override { port_.wait_until(seconds); }
  Clock clock() const override { return Clock::modelled; }

 private:
  Message message(Op op, const Tensor& data, int peer, int tag, const Where& where) const {
    Message message = asking<Message>(op, group_, where);
    message.peer = peer;
    message.tag = tag;
    message.count = data.numel();
    message.dtype = data.dtype();
    return message;
  }

  Message sending(Op op, const Tensor& data, int dst, int tag, const Where& where) {
    Message sent = message(op, data, dst, tag, where);
    sent.data = wire_bytes_of(data);  // the port reads them before call() returns
    // The core takes the checksum itself, of what is sent.
    traffic_.bytes_sent += sent.count * static_cast<std::int64_t>(bytes_of(sent.dtype));
    ++traffic_.messages_sent;
    if (!sent.data.empty()) return sent;
    if (const auto* sets = contributors_of(data.device())) {
      sets->world().send(route(rank(), dst, tag), data);
    }
    return sent;
  }
  // Sets of contributors travel beside their messages, which have a size only.
  ContributorWorld::Route route(int src, int dst, int tag) const {
    return {static_cast<int>(group_), src, dst, tag};
  }

  // Asks for an operation that is answered with a handle, to be waited for.
  template <typename AnyCall>
  Work start_request(const AnyCall& asked, Tensor watched, Tensor result, const Where& where) {
    Message wait = asking<Message>(Op::wait, group_, where);
    wait.handle = ask(port_, asked).handle;
    return Work(std::make_unique<SimPending>(port_, wait, std::move(watched), std::move(result)));
  }

  void send_now(const Tensor& data, int dst, int tag, const Where& where) override {
    ask(port_, sending(Op::send, data, dst, tag, where));
  }
  void recv_now(Tensor data, int src, int tag, const Where& where) override {
    Message wanted = message(Op::recv, data, src, tag, where);
    wanted.into = wire_bytes_of(data);
    if (!wanted.into.empty() || contributors_of(data.device()) == nullptr) {
      return check_received(ask(port_, wanted), wanted);
    }
    recv_sets(data, wanted, route(src, rank(), tag));
  }
  void recv_sets(const Tensor& data, const Message& wanted, const ContributorWorld::Route& route) {
    const SetsReceipt sets(data, route);
    ask(port_, wanted);
    sets.take();
  }
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override {
    const Message sent = sending(Op::isend, data, dst, tag, where);
    if (!sent.data.empty()) return start_request(sent, data, {}, where);
    return {*this, ask(port_, sent).handle, where};  // no elements: there is nothing to watch
  }
  Work start_recv(Tensor data, int src, int tag, const Where& where) override {
    Message wanted = message(Op::irecv, data, src, tag, where);
    if (const auto room = wire_bytes_of(data); posted_ == PostedRoom::scribbled && !room.empty()) {
      std::memset(room.data(), posted_byte, room.size());
    }
    wanted.checksum = checksum_of(data);
    if (contributors_of(data.device()) == nullptr) return start_request(wanted, data, data, where);
    const SetsReceipt sets(data, route(src, rank(), tag));
    return Work(std::make_unique<SetsPending>(start_request(wanted, data, data, where), sets));
  }

  void wait(std::uint64_t handle, const Where& where) override {
    Message wait = asking<Message>(Op::wait, group_, where);
    wait.handle = handle;
    ask(port_, wait);
  }

  Work start(const Collective& c, const Where& where) override {
    Request request = asking<Request>(Op::icollective, group_, where);
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
    const Tensor& watched = c.input.defined() ? c.input : c.output;
    if (request.data.bytes.empty()) request.checksum = checksum_of(watched);
    return start_request(request, watched, c.output, where);
  }

  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override {
    Request request = asking<Request>(Op::split, group_, where);
    request.color = color;
    request.key = key;
    const Reply reply = ask(port_, request);
    if (reply.rank < 0) return nullptr;
    return std::make_unique<SimGroup>(port_, reply.group, reply.rank, reply.size, global_rank_,
                                      posted_);
  }

  sim::Port& port_;
  std::uint32_t group_;
  int global_rank_;
  PostedRoom posted_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<ProcessGroup> make_sim_group(sim::Port& port, int rank, int size,
                                             PostedRoom posted) {
  return std::make_unique<SimGroup>(port, 0, rank, size, rank, posted);
}

}  // namespace lockstep::comm
