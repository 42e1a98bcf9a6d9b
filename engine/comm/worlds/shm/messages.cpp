#include "engine/comm/worlds/shm/messages.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "engine/comm/worlds/shm/agreement.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::comm::shm {

struct alignas(64) Messages::Node {
  Mailbox next;                         // offset of the pair's next message
  std::atomic<std::uint32_t> taken;     // the elements were copied
  std::atomic<std::uint32_t> released;  // and the receiver knows the next message
  std::uint64_t elements;               // offset
  std::int64_t count;
  std::int32_t tag, line;
  DType dtype;
  char file[79];
};

namespace {

// Up to here the elements stand behind the node, in its block.
constexpr std::size_t behind_bytes = 3072;

}  // namespace

Messages::Messages(Membership& membership)
    : membership_(membership),
      outboxes_(static_cast<std::size_t>(membership.size())),
      last_seen_(static_cast<std::size_t>(membership.size())) {}

Messages::~Messages() {
  for (const Outbox& outbox : outboxes_) {
    for (const Sent& sent : outbox.sent) {
      membership_.give_at_end(sent.node);
      if (sent.elements != 0) membership_.give_at_end(sent.elements);
    }
  }
}

Messages::Node& Messages::node(std::uint64_t offset) const {
  return membership_.segment().object<Node>(offset);
}

std::uint64_t Messages::make_node(const Tensor& data, Sent& sent) {
  const std::size_t bytes = data.bytes();
  const bool behind = bytes <= behind_bytes;
  const auto block = membership_.arena().take(sizeof(Node) + (behind ? bytes : 0));
  auto elements = block;
  if (block && !behind) elements = membership_.arena().take(bytes);
  if (!elements) {
    if (block) membership_.arena().give(*block);
    throw CommError(text("shared memory: no room for a message of ", bytes, " bytes; the memory ",
                         "is spent, by messages that were not received yet or by other tensors"));
  }
  sent = {*block, behind ? 0 : *elements};
  Node& made = *new (membership_.segment().at(*block)) Node{};
  made.elements = behind ? *block + sizeof(Node) : *elements;
  std::memcpy(membership_.segment().at(made.elements), data.raw_bytes().data(), bytes);
  return *block;
}

void Messages::send(const Tensor& data, int dst, int tag, const Where& where) {
  const std::scoped_lock lock(mutex_);
  Outbox& outbox = outboxes_[static_cast<std::size_t>(dst)];
  sweep(outbox);
  Sent sent{};
  const std::uint64_t offset = make_node(data, sent);
  Node& made = node(offset);
  made.count = data.numel();
  made.dtype = data.dtype();
  made.tag = tag;
  made.line = static_cast<std::int32_t>(where.line());
  std::string_view file(where.file_name());
  if (file.size() > sizeof made.file - 1) file.remove_prefix(file.size() - sizeof made.file + 1);
  std::memcpy(made.file, file.data(), file.size());
  Mailbox& link = outbox.last == 0 ? membership_.control().mailbox(membership_.rank(), dst)
                                   : node(outbox.last).next;
  link.store(offset, std::memory_order_release);  // acquire: follow()
  outbox.last = offset;
  outbox.sent.push_back(sent);
  membership_.peer_watch().ring(dst);
}

// Gives back what the receiver has done with: at the front always, elsewhere now and then.
void Messages::sweep(Outbox& outbox) {
  const auto give = [&](Sent& sent) {
    const Node& message = node(sent.node);
    if (sent.elements != 0 && message.taken.load(std::memory_order_acquire) != 0) {
      membership_.arena().give(sent.elements);
      sent.elements = 0;
    }
    if (message.released.load(std::memory_order_acquire) == 0) return false;
    membership_.arena().give(sent.node);
    return true;
  };
  while (!outbox.sent.empty() && give(outbox.sent.front())) outbox.sent.pop_front();
  if (outbox.sent.size() < outbox.sweep_at) return;
  std::erase_if(outbox.sent, give);
  outbox.sweep_at = 2 * outbox.sent.size() + 64;
}

// Sorts what `src` has sent since.
void Messages::follow(int src) {
  std::uint64_t& last = last_seen_[static_cast<std::size_t>(src)];
  while (true) {
    const Mailbox& link =
        last == 0 ? membership_.control().mailbox(src, membership_.rank()) : node(last).next;
    const std::uint64_t next = link.load(std::memory_order_acquire);
    if (next == 0) return;
    // release: its sender may write over it.
    if (last != 0 && node(last).taken.load(std::memory_order_relaxed) != 0) {
      node(last).released.store(1, std::memory_order_release);
    }
    last = next;
    Line& line = lines_[{src, node(next).tag}];
    const std::uint64_t number = line.arrived++;
    if (const auto unwanted = std::ranges::find(line.dropped, number);
        unwanted != line.dropped.end()) {
      line.dropped.erase(unwanted);
      take(src, next);
    } else {
      line.waiting[number] = next;
    }
  }
}

void Messages::take(int src, std::uint64_t offset) {
  node(offset).taken.store(1, std::memory_order_release);
  if (offset != last_seen_[static_cast<std::size_t>(src)]) {
    node(offset).released.store(1, std::memory_order_release);
  }
}

Messages::Ticket Messages::post(int src, int tag) {
  const std::scoped_lock lock(mutex_);
  return {src, tag, lines_[{src, tag}].posted++};
}

std::uint64_t Messages::find(const Ticket& ticket) {
  const std::scoped_lock lock(mutex_);
  follow(ticket.src);
  const Line& line = lines_[{ticket.src, ticket.tag}];
  const auto found = line.waiting.find(ticket.number);
  return found == line.waiting.end() ? 0 : found->second;
}

void Messages::receive(const Ticket& ticket, const Tensor& data,
                       const std::function<std::string()>& doing, double timeout_s) {
  std::uint64_t offset = find(ticket);
  if (offset == 0) {
    RankLine& mine = membership_.control().line(membership_.rank());
    bool said = false;
    membership_.peer_watch().await_message(
        ticket.src, timeout_s, [&] { return (offset = find(ticket)) != 0; },
        [&] {
          say_doing(mine, doing());
          said = true;
        });
    if (said) say_doing(mine, "");
  }
  const Node& message = node(offset);
  if (message.count != data.numel() || message.dtype != data.dtype()) {
    throw Mismatch{text(membership_.names().name(ticket.src), " sent ", message.count, " ",
                        name_of(message.dtype), " with tag ", message.tag, " at ",
                        sim::place_of(message.file, message.line),
                        "; both sides need the same count and type")};
  }
  std::memcpy(data.raw_bytes().data(), membership_.segment().at(message.elements), data.bytes());
  const std::scoped_lock lock(mutex_);
  lines_[{ticket.src, ticket.tag}].waiting.erase(ticket.number);
  take(ticket.src, offset);
}

void Messages::drop(const Ticket& ticket) {
  const std::scoped_lock lock(mutex_);
  Line& line = lines_[{ticket.src, ticket.tag}];
  const auto found = line.waiting.find(ticket.number);
  if (found == line.waiting.end()) {
    line.dropped.push_back(ticket.number);
    return;
  }
  take(ticket.src, found->second);
  line.waiting.erase(found);
}

}  // namespace lockstep::comm::shm
