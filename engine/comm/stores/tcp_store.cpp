// The store's client: one request, one reply, over one connection. Several threads of a rank take
// turns, until one of them waits long: then the others get another connection.
#include "engine/comm/stores/tcp_store.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/comm/stores/dictionary.hpp"
#include "engine/comm/stores/store_protocol.hpp"

namespace lockstep::comm {

namespace {

using protocol::Answer;
using protocol::Command;

struct Reply {
  Answer answer = Answer::ok;
  std::string value;
};

class TcpStore final : public Store {
 public:
  TcpStore(const std::string& host, int port, double timeout_s)
      : host_(host), port_(port), place_(text("at ", host, ":", port)), timeout_s_(timeout_s) {
    require_seconds("connect", timeout_s);
    idle_.push_back(connect_to(host, port, deadline_after(timeout_s)));
  }

  void set(const std::string& key, const std::string& value) override {
    require_fits("set", key, value.size());
    ask("set", key, ByteWriter().put(Command::set).put_text(key).put_text(value));
  }

  std::string get(const std::string& key) override {
    const Reply reply =
        ask("get", key, ByteWriter().put(Command::get).put(timeout_s_).put_text(key), timeout_s_);
    if (reply.answer == Answer::late) refuse_late("get", reply.value, place_, timeout_s_);
    return reply.value;
  }

  std::int64_t add(const std::string& key, std::int64_t amount) override {
    return std::stoll(
        ask("add", key, ByteWriter().put(Command::add).put_text(key).put(amount)).value);
  }

  void append(const std::string& key, const std::string& value) override {
    require_fits("append", key, value.size());
    ask("append", key, ByteWriter().put(Command::append).put_text(key).put_text(value));
  }

  bool check(const std::string& key) override {
    return ask("check", key, ByteWriter().put(Command::check).put_text(key)).answer == Answer::ok;
  }

  void wait(std::span<const std::string> keys, double timeout_s) override {
    require_seconds("wait", timeout_s);
    if (keys.empty()) return;
    ByteWriter request;
    request.put(Command::wait).put(timeout_s);
    for (const std::string& key : keys) request.put_text(key);
    const Reply reply = ask("wait", keys.front(), request, timeout_s);
    if (reply.answer == Answer::late) refuse_late("wait", reply.value, place_, timeout_s);
  }

  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    require_fits("compare_set", key, desired.size());
    ByteWriter request;
    request.put(Command::compare_set).put_text(key).put_text(expected).put_text(desired);
    return ask("compare_set", key, request).value;
  }

  bool delete_key(const std::string& key) override {
    return ask("delete_key", key, ByteWriter().put(Command::delete_key).put_text(key)).answer ==
           Answer::ok;
  }

  std::int64_t count_keys(const std::string& prefix) override {
    return std::stoll(
        ask("num_keys", prefix, ByteWriter().put(Command::count_keys).put_text(prefix)).value);
  }

 private:
  // The reply to a request, which the server may hold back for `held_s`.
  Reply ask(const char* verb, const std::string& key, const ByteWriter& request,
            double held_s = 0) {
    const Bytes& body = request.bytes();
    LOCKSTEP_CHECK(body.size() <= protocol::body_bytes_max, "store ", verb, ": key \"", key,
                   "\" and what goes with it take ", body.size(), " bytes, more than ",
                   protocol::body_bytes_max, "; a store holds addresses and small reports");
    const Deadline deadline = deadline_after(held_s + timeout_s_);
    const auto size = static_cast<std::uint32_t>(body.size());
    Bytes frame = ByteWriter().put(size).take();
    frame.insert(frame.end(), body.begin(), body.end());
    const std::string what = text(verb, " of key \"", key, "\"");
    Descriptor connection = free_connection(what);
    transfer(connection, frame, POLLOUT, deadline, what);

    Bytes head(sizeof size);
    transfer(connection, head, POLLIN, deadline, what);
    const auto reply_size = ByteReader(head).get<std::uint32_t>();
    if (reply_size > protocol::body_bytes_max) lose(what, "its answer is malformed");
    Bytes reply(reply_size);
    transfer(connection, reply, POLLIN, deadline, what);
    keep(std::move(connection));
    ByteReader reader(reply);
    const auto answer = reader.get<Answer>();
    const std::string value = reader.get_text();
    if (answer == Answer::refused) throw ContractError(value);
    return {answer, value};
  }

  // For one request and its reply.
  Descriptor free_connection(const std::string& what) {
    constexpr auto turn = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    const bool is_free = changed_.wait_for(lock, turn, [&] { return lost_ || !idle_.empty(); });
    if (lost_) refuse(what, "the connection was lost before");
    if (is_free) {
      Descriptor connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    lock.unlock();
    return connect_to(host_, port_, deadline_after(timeout_s_));
  }
  void keep(Descriptor connection) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(connection));
    changed_.notify_one();
  }

  // Sends or receives all of `bytes`. After a failure the connection is of no use any more.
  void transfer(const Descriptor& connection, std::span<std::byte> bytes, short direction,
                Deadline deadline, const std::string& what) {
    while (!bytes.empty()) {
      const int fd = connection.get();
      const ssize_t moved = direction == POLLIN
                                ? recv(fd, bytes.data(), bytes.size(), 0)
                                : ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (moved > 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(moved));
      } else if (moved == 0) {
        lose(what, "the server closed the connection");
      } else if (errno == EAGAIN) {
        pollfd entry{fd, direction, 0};
        if (poll(&entry, 1, poll_ms_until(deadline)) == 0) lose(what, "the server is silent");
      } else if (errno != EINTR) {
        lose(what, std::strerror(errno));
      }
    }
  }

  [[noreturn]] void lose(const std::string& what, const std::string& why) {
    {
      const std::scoped_lock lock(mutex_);
      lost_ = true;
      changed_.notify_all();
    }
    refuse(what, why);
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& why) const {
    throw CommError(text("store ", what, " ", place_, " failed: ", why,
                         "; the launcher or rank 0, which hosts the store, has probably ended"));
  }

  const std::string host_;
  const int port_;
  const std::string place_;
  const double timeout_s_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Descriptor> idle_;  // connections
  bool lost_ = false;             // one of them: the server is no more
};

}  // namespace

std::unique_ptr<Store> connect_store(const std::string& host, int port, double timeout_s) {
  return std::make_unique<TcpStore>(host, port, timeout_s);
}

}  // namespace lockstep::comm
