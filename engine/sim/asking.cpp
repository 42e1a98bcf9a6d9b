// One request: what becomes of it, and how the strand that asked goes on.
#include <algorithm>
#include <cstring>

#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

namespace {

bool is_blocking(Op op) {
  return op == Op::send || op == Op::recv || op == Op::collective || op == Op::split;
}

Message message_of(const Request& request) {
  Message message;
  message.op = request.op;
  message.dtype = request.dtype;
  message.group = request.group;
  message.peer = request.peer;
  message.tag = request.tag;
  message.count = request.count;
  message.checksum = request.checksum;
  message.data = request.data.bytes;
  message.file = request.file.c_str();
  message.line = request.line;
  return message;
}

// Brings what was received to where the waiter wants it; how many bytes it is.
std::size_t received_by(Operation& operation) {
  if (operation.received > 0) return operation.received;
  const std::span<const std::byte> bytes =
      operation.whole ? operation.whole->reply.data.bytes : operation.kept;
  const bool receives = operation.request.op != Op::isend && operation.request.op != Op::send;
  if (!receives || bytes.empty()) return 0;
  const auto into = operation.request.into;
  if (bytes.size() == into.size()) std::memcpy(into.data(), bytes.data(), into.size());
  return bytes.size();
}

}  // namespace

const Request& request_of(const Operation& operation) {
  if (operation.whole) return operation.whole->request;
  if (!operation.told) operation.told = std::make_unique<Request>(request_of(operation.request));
  return *operation.told;
}

Reply failed_reply(std::string error) {
  Reply reply;
  reply.status = Status::failed;
  reply.error = std::move(error);
  return reply;
}

void Core::State::take(Actor actor, Request request) {
  Strand& strand = strand_of(actor);
  switch (request.op) {
    case Op::wait:
      return take_wait(actor, request.handle, request.checksum);
    case Op::compute:
    case Op::until:
      pass_time(strand, actor, std::move(request));
      return answer_now(actor, {});
    case Op::service:
      strand.serving = std::move(request);
      return;
    case Op::pause:
      strand.pausing = std::move(request);
      return;
    case Op::join: {
      const Strand& other =
          strands_[static_cast<std::size_t>(actor.rank)].at(static_cast<int>(request.handle));
      strand.joining = std::move(request);
      if (!other.live) release_joiners({actor.rank, static_cast<int>(strand.joining->handle)});
      return;
    }
    default:
      break;
  }
  const OperationPtr operation = operation_of(actor, strand);
  operation->whole = std::make_unique<Whole>(Whole{std::move(request), {}});
  operation->request = message_of(operation->whole->request);
  post(operation, strand);
  if (!strand.waits_on && !is_blocking(operation->request.op))
    answer_now(actor, std::move(strand.reply));
}

void Core::State::take(Actor actor, const Message& message) {
  if (message.op == Op::wait) {
    return take_wait(actor, message.handle, message.checksum, message.into);
  }
  Strand& strand = strand_of(actor);
  const OperationPtr operation = operation_of(actor, strand);
  operation->request = message;
  if (message.op == Op::isend && !message.data.empty()) {
    operation->kept.assign(message.data.begin(), message.data.end());
    operation->request.data = operation->kept;
  }
  post(operation, strand);
}

OperationPtr Core::State::operation_of(Actor actor, const Strand& strand) {
  OperationPtr operation = pool_.make();
  operation->owner = actor;
  operation->posted_s = strand.clock_s;
  operation->order = orders_++;
  return operation;
}

void Core::State::post(const OperationPtr& operation, Strand& strand) {
  Message& request = operation->request;
  const Op op = request.op;
  if (is_blocking(op)) {
    operation->waiter = operation->owner;
    operation->has_waiter = true;
    strand.waits_on = operation;
  } else {
    if (!request.data.empty()) request.checksum = checksum_of(request.data);
    const std::uint64_t handle = pool_.open(operation);
    strand.answer = {nullptr, handle, 0, 0};
    if (!strand.brief) {
      strand.reply = {};
      strand.reply.handle = handle;
    }
  }
  switch (op) {
    case Op::send:
    case Op::isend:
      operation->depth = strand.depth + 1;
      return post_send(operation);
    case Op::recv:
    case Op::irecv:
      return post_receive(operation);
    default:
      return enter(operation);
  }
}

void Core::State::take_wait(Actor actor, std::uint64_t handle, std::uint64_t checksum,
                            std::span<std::byte> into) {
  const OperationPtr operation = pool_.take(actor.rank, handle);
  if (!operation) {  // two strands wait for one handle
    return answer_now(actor, failed_reply("wait: another strand waits for this operation already"));
  }
  if (operation->request.checksum != checksum) {
    const Request& asked = request_of(*operation);
    const std::string what(asked.op == Op::icollective ? name_of(asked.collective)
                                                       : name_of(asked.op));
    found(
        {Verdict::in_flight,
         text("in flight: rank ", actor.rank, " changed the buffer of its ", what, and_place(asked),
              " before wait() returned; until then the buffer belongs to the operation"),
         {actor.rank},
         place_of(asked)});
  }
  operation->request.into = into;
  operation->waiter = actor;
  operation->has_waiter = true;
  strand_of(actor).waits_on = operation;
  if (operation->done) return resume(*operation);
  if (operation->receive != nullptr && is_next(*operation, *operation->receive)) {
    transfer(*operation, *operation->receive);
    forget_one_match();
  }
}

void Core::State::set_ready(Actor actor, const Strand& strand) {
  if (strand.running) return;  // it is answered at once
  if (one_at_a_time_) {
    ready_by_time_.push_back({strand.clock_s, actor});
  } else {
    ready_.add(actor);
  }
}

void Core::State::answer_now(Actor actor, Reply reply) {
  Strand& strand = strand_of(actor);
  strand.reply = std::move(reply);
  strand.answer = {strand.reply.status == Status::ok ? nullptr : &strand.reply.error, 0, 0, 0};
  set_ready(actor, strand);
}

void Core::State::resume(Operation& operation) {
  if (!operation.has_waiter) return;
  Strand& strand = strand_of(operation.waiter);
  if (recorder_) record_wait(operation, strand.clock_s);
  strand.clock_s = std::max(strand.clock_s, operation.done_s);
  const Op op = operation.request.op;
  if (op == Op::recv || op == Op::irecv) strand.depth = std::max(strand.depth, operation.depth);
  if (strand.brief) {
    strand.answer = {nullptr, 0, received_by(operation),
                     operation.whole ? operation.whole->reply.ran_s : 0};
  } else if (operation.whole) {
    strand.reply = std::move(operation.whole->reply);
  } else {
    strand.reply = {};
    strand.reply.data = payload_of(Bytes(operation.kept));
  }
  set_ready(operation.waiter, strand);
  strand.waits_on = nullptr;
}

void Core::State::release_joiners(Actor ended) {
  auto& strands = strands_[static_cast<std::size_t>(ended.rank)];
  const Strand& other = strands.at(ended.strand);
  for (auto& [id, strand] : strands) {
    if (!strand.joining || std::cmp_not_equal(strand.joining->handle, ended.strand)) continue;
    if (recorder_) {
      recorder_->waited({ended.rank, id}, *strand.joining, strand.clock_s, other.clock_s);
    }
    strand.joining.reset();
    strand.clock_s = std::max(strand.clock_s, other.clock_s);
    strand.depth = std::max(strand.depth, other.depth);
    answer_now({ended.rank, id}, {});
  }
}

}  // namespace lockstep::sim
