#include "engine/sim/hosts/socket_port.hpp"

#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/sim/wire/printable.hpp"
#include "engine/strand/joined_before.hpp"

namespace lockstep::sim {

namespace {

// The host checks what players send; a player has no reason to doubt its host.
constexpr std::int64_t length_max = std::int64_t{1} << 32;

// The host has gone away in the middle of a case: nobody is left to report to.
[[noreturn]] void host_is_gone() { std::_Exit(1); }

}  // namespace

SocketPort::SocketPort(int socket)
    : socket_(socket), reader_(length_max), baton_([this] { fetch_reply(); }) {}

void SocketPort::send(const std::function<OutgoingFrame(std::uint32_t)>& frame) {
  const std::scoped_lock lock(sending_);
  frame(sequence_++).send(socket_, LineEnd::player);
}

void SocketPort::send(FrameKind kind, int strand, Bytes body) {
  send([&](std::uint32_t sequence) {
    return OutgoingFrame(kind, strand, sequence, payload_of(std::move(body)));
  });
}

void SocketPort::check_thread(const char* doing, const std::string& place) {
  if (baton_.is_mine()) return;
  send_failure(
      Failure::foreign_thread,
      text(doing, place.empty() ? "" : ", " + place,
           " on a std::thread of its own; a rank may use its group only on the thread that called "
           "the part, where isend and irecv return at once, and on strands (Strands::start)"));
  std::_Exit(1);
}

Reply SocketPort::call(const Request& request) {
  check_thread(text("calls ", name_of(request.op)).c_str(),
               request.file.empty() ? std::string() : place_of(request.file, request.line));
  const int self = baton_.current();
  send([&](std::uint32_t sequence) { return OutgoingFrame(self, sequence, request); });
  baton_.block();
  auto entry = replies_.extract(self);
  return std::move(entry.mapped());
}

void SocketPort::fetch_reply() {
  try {
    if (reader_.read(socket_) != FrameReader::State::complete) host_is_gone();
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
  if (reader_.read(socket_) != FrameReader::State::complete) return std::nullopt;
  return reader_.take();
}

void SocketPort::send_result(Bytes result) { send(FrameKind::result, 0, std::move(result)); }

void SocketPort::send_gave_up(const std::string& why, const Bytes& result) {
  ByteWriter out;
  out.put_text(why.substr(0, text_max)).put_bytes(result);
  send(FrameKind::gave_up, 0, out.take());
}

void SocketPort::send_threw(const std::string& what) {
  ByteWriter out;
  out.put_text(what.substr(0, text_max));
  send(FrameKind::threw, 0, out.take());
}

void SocketPort::send_failure(Failure kind, const std::string& text,
                              std::span<const std::uint64_t> calls) {
  ByteWriter out;
  out.put(kind).put_text(text.substr(0, text_max));
  for (const std::uint64_t call : calls) out.put(call);
  send(FrameKind::failed, 0, out.take());
}

std::string SocketPort::unfinished() const {
  std::string result;
  for (const auto& [id, name] : names_) result += (result.empty() ? "'" : ", '") + name + "'";
  return result;
}

// Strand and thread. Dropped while an exception passes, it is joined if it ends. Otherwise it is
// abandoned: a deadlock would hide the exception, with whose report the process ends.
class SocketPort::BatonStrand final : public Strand {
 public:
  BatonStrand(SocketPort& port, std::string name, std::function<void()> body)
      : port_(port), id_(port.baton_.add()), exceptions_(std::uncaught_exceptions()) {
    ByteWriter origin;
    origin.put(port.baton_.current()).put_text(name.substr(0, names_max));
    port.names_[id_] = std::move(name);
    port.send(FrameKind::strand_started, id_, origin.take());
    thread_ = std::thread([this_id = id_, state = state_, &port, body = std::move(body)] {
      port.baton_.begin(this_id);
      try {
        body();
      } catch (const std::exception& error) {
        state->failure = std::current_exception();
        port.send_threw(error.what());
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
    const bool unwinds = std::uncaught_exceptions() > exceptions_;
    try {
      wait(unwinds ? JoinFor::while_others_go_on : JoinFor::ever);
    } catch (...) {
      thread_.detach();  // the wait itself failed; the host knows why
    }
  }

  void join() override {
    LOCKSTEP_CHECK(thread_.joinable(), joined_before);
    wait();
    if (state_->failure) std::rethrow_exception(std::exchange(state_->failure, nullptr));
  }

 private:
  // The core must know that this strand waits for that one: otherwise "all are blocked" is wrong.
  void wait(JoinFor how = JoinFor::ever) {
    join_strand(port_, id_, how);
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
  check_thread("starts a strand", {});
  return std::make_unique<BatonStrand>(*this, std::move(name), std::move(body));
}

int SocketPort::current_strand() const { return baton_.current(); }

void SocketPort::wake(int strand) {
  ByteWriter sleeper;
  sleeper.put(strand);
  send(FrameKind::strand_woken, baton_.current(), sleeper.take());
}

std::unique_ptr<Monitor> SocketPort::make_monitor() { return make_port_monitor(*this); }

}  // namespace lockstep::sim
