#include "engine/sim/socket_port.hpp"

#include <cstdlib>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

namespace lockstep::sim {

namespace {

// The host checks what players send; a player has no reason to doubt its host.
constexpr std::int64_t length_max = std::int64_t{1} << 32;

// The host has gone away in the middle of a case: nobody is left to report to.
[[noreturn]] void host_is_gone() { std::_Exit(1); }

}  // namespace

SocketPort::SocketPort(int socket)
    : socket_(socket), reader_(length_max), baton_([this] { fetch_reply(); }) {}

void SocketPort::send(FrameKind kind, int strand, Bytes body) {
  OutgoingFrame(kind, strand, sequence_++, payload_of(std::move(body))).send(socket_, 0);
}

Reply SocketPort::call(const Request& request) {
  const int self = baton_.current();
  OutgoingFrame(self, sequence_++, request).send(socket_, 0);
  baton_.block();
  auto entry = replies_.extract(self);
  return std::move(entry.mapped());
}

void SocketPort::fetch_reply() {
  try {
    if (reader_.read(socket_, 0) != FrameReader::State::complete) host_is_gone();
    const IncomingFrame frame = reader_.take();
    ByteReader in(frame.bytes());
    const int strand = frame.header.strand;
    replies_[strand] = read_reply(in, frame.body);
    baton_.ready(strand);
  } catch (const std::exception&) {
    host_is_gone();  // no memory for the reply, or a host that speaks another language
  }
}

std::optional<IncomingFrame> SocketPort::next_case() {
  if (reader_.read(socket_, 0) != FrameReader::State::complete) return std::nullopt;
  return reader_.take();
}

void SocketPort::send_result(Bytes result) { send(FrameKind::result, 0, std::move(result)); }

void SocketPort::send_failure(Failure kind, const std::string& text) {
  ByteWriter out;
  out.put(kind).put_text(text);
  send(FrameKind::failed, 0, out.take());
}

std::string SocketPort::unfinished() const {
  std::string result;
  for (const auto& [id, name] : names_) result += (result.empty() ? "'" : ", '") + name + "'";
  return result;
}

// Strand and thread. Dropped while an exception leaves the part, it is abandoned: waiting for it
// could hide the exception behind a deadlock, and the process ends with the report.
class SocketPort::BatonStrand final : public Strand {
 public:
  BatonStrand(SocketPort& port, std::string name, std::function<void()> body)
      : port_(port), id_(port.baton_.add()), exceptions_(std::uncaught_exceptions()) {
    ByteWriter origin;
    origin.put(port.baton_.current()).put_text(name);
    port.names_[id_] = std::move(name);
    port.send(FrameKind::strand_started, id_, origin.take());
    thread_ = std::thread([this_id = id_, state = state_, &port, body = std::move(body)] {
      port.baton_.begin(this_id);
      try {
        body();
      } catch (...) {
        state->failure = std::current_exception();
      }
      port.names_.erase(this_id);
      port.send(FrameKind::strand_ended, this_id, {});
      port.baton_.leave();
    });
  }

  ~BatonStrand() override {
    if (!thread_.joinable()) return;
    if (std::uncaught_exceptions() > exceptions_) {
      thread_.detach();
      return;
    }
    try {
      wait();
    } catch (...) {
      thread_.detach();  // the wait itself failed; the host knows why
    }
  }

  void join() override {
    wait();
    if (state_->failure) std::rethrow_exception(std::exchange(state_->failure, nullptr));
  }

 private:
  // The core must know that this strand waits for that one: otherwise "all are blocked" is wrong.
  void wait() {
    Request request;
    request.op = Op::join;
    request.handle = static_cast<std::uint64_t>(id_);
    const Reply reply = port_.call(request);
    if (reply.status != Status::ok) throw Error(reply.error);
    thread_.join();
  }

  struct State {
    std::exception_ptr failure;
  };
  SocketPort& port_;
  int id_;
  int exceptions_;
  std::shared_ptr<State> state_ = std::make_shared<State>();  // outlives an abandoned strand
  std::thread thread_;
};

std::unique_ptr<Strand> SocketPort::start(std::string name, std::function<void()> body) {
  return std::make_unique<BatonStrand>(*this, std::move(name), std::move(body));
}

// Only the holder of the baton runs, so nothing here needs a lock of the machine. A strand that has
// to wait pauses, which is a request: thus the core knows of it, and of whoever wakes it.
class SocketPort::BatonMonitor final : public Monitor {
 public:
  explicit BatonMonitor(SocketPort& port) : port_(port) {}

  void lock() override {
    if (!std::exchange(taken_, true)) return;
    entering_.push_back(port_.baton_.current());
    pause({});  // unlock() hands the monitor over: it stays taken
  }

  void unlock() override {
    if (entering_.empty()) {
      taken_ = false;
    } else {
      wake(entering_.front());
      entering_.pop_front();
    }
  }

  void notify_all() override {
    for (const int strand : std::exchange(waiting_, {})) wake(strand);
  }

 private:
  void wait_for_change(const std::source_location& where) override {
    waiting_.push_back(port_.baton_.current());
    unlock();
    pause(where);
    lock();
  }

  void pause(const std::source_location& where) {
    Request request;
    request.op = Op::pause;
    request.file = where.file_name();
    request.line = static_cast<int>(where.line());
    const Reply reply = port_.call(request);
    if (reply.status != Status::ok) throw Error(reply.error);
  }

  void wake(int strand) {
    ByteWriter sleeper;
    sleeper.put(strand);
    port_.send(FrameKind::strand_woken, port_.baton_.current(), sleeper.take());
  }

  SocketPort& port_;
  bool taken_ = false;        // a strand is inside
  std::deque<int> entering_;  // strands that want to be, in their order
  std::vector<int> waiting_;  // strands in wait(), not notified
};

std::unique_ptr<Monitor> SocketPort::make_monitor() {
  return std::make_unique<BatonMonitor>(*this);
}

}  // namespace lockstep::sim
