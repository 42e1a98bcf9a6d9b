// One request: what becomes of it, and how the strand that asked goes on.
#include <algorithm>
#include <cstring>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

namespace {

Message message_of(const Request& request) {
  Message message;
  message.op = request.op;
  message.dtype = request.dtype;
  message.group = request.group;
  message.peer = request.peer;
  message.tag = request.tag;
  message.count = request.count;
  message.handle = request.handle;
  message.checksum = request.checksum;
  message.data = request.data.bytes;
  message.file = request.file.c_str();
  message.line = request.line;
  return message;
}

}  // namespace

Reply failed_reply(std::string error) {
  Reply reply;
  reply.status = Status::failed;
  reply.error = std::move(error);
  return reply;
}

void Core::State::take(Actor actor, Request request) {
  StrandState& strand = strand_of(actor);
  switch (request.op) {
    case Op::wait:
      return take_wait(actor, strand, message_of(request));
    case Op::compute:
    case Op::until:
      pass_time(strand, actor, std::move(request));
      return answer_now(actor, {});
    case Op::service:
      strand.serving = std::make_unique<Request>(std::move(request));
      return;
    case Op::pause:
      strand.pausing = std::make_unique<Request>(std::move(request));
      return;
    case Op::join: {
      const StrandState& other =
          strands_[static_cast<std::size_t>(actor.rank)].at(static_cast<int>(request.handle));
      strand.joining = std::make_unique<Request>(std::move(request));
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
  if (strand.waits_on || is_blocking(operation->request.op)) return;
  Reply reply;
  reply.handle = strand.answer.handle;
  answer_now(actor, std::move(reply));
}

void Core::State::answer_now(Actor actor, Reply reply) {
  StrandState& strand = strand_of(actor);
  strand.reply = std::move(reply);
  strand.answer = {strand.reply.status == Status::ok ? nullptr : &strand.reply.error, 0, 0, 0};
  set_ready(actor, strand);
}

void Core::State::release_joiners(Actor ended) {
  auto& strands = strands_[static_cast<std::size_t>(ended.rank)];
  const StrandState& other = strands.at(ended.strand);
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

bool Core::State::leave_joins() {
  bool left = false;
  for (std::size_t rank = 0; rank < strands_.size(); ++rank) {
    for (auto& [id, strand] : strands_[rank]) {
      if (!strand.joining || strand.joining->count == 0) continue;
      Reply reply;
      reply.status = Status::failed;
      reply.error = text("strand ", strand.joining->handle, " waits, and nothing can go on");
      strand.joining.reset();
      answer_now({static_cast<int>(rank), id}, std::move(reply));
      left = true;
    }
  }
  return left;
}

}  // namespace lockstep::sim
