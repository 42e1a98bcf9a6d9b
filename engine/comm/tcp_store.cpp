// The store's client: one request, one reply, over one connection. A mutex keeps several threads
// of one rank apart.
#include "engine/comm/tcp_store.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "engine/base/bytes.hpp"
#include "engine/comm/store_protocol.hpp"

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
      : place_(text(host, ":", port)),
        timeout_s_(timeout_s),
        connection_(connect_to(host, port, deadline_after(timeout_s))) {}

  void set(const std::string& key, const std::string& value) override {
    ask(ByteWriter().put(Command::set).put_text(key).put_text(value).take(), "set", key, 0);
  }

  std::string get(const std::string& key) override {
    const Bytes request = ByteWriter().put(Command::get).put(timeout_s_).put_text(key).take();
    const Reply reply = ask(request, "get", key, timeout_s_);
    if (reply.answer == Answer::late) refuse_late("get", reply.value, timeout_s_);
    return reply.value;
  }

  std::int64_t add(const std::string& key, std::int64_t amount) override {
    const Reply reply =
        ask(ByteWriter().put(Command::add).put_text(key).put(amount).take(), "add", key, 0);
    if (reply.answer == Answer::refused) {
      throw ContractError(text("store add: key \"", key, "\" at ", place_, " holds \"", reply.value,
                               "\", to which ", amount, " cannot be added; add() keeps 64-bit ",
                               "decimal numbers, so use another key for text"));
    }
    return std::stoll(reply.value);
  }

  bool check(const std::string& key) override {
    const Reply reply = ask(ByteWriter().put(Command::check).put_text(key).take(), "check", key, 0);
    return reply.answer == Answer::ok;
  }

  void wait(std::span<const std::string> keys, double timeout_s) override {
    if (keys.empty()) return;
    ByteWriter request;
    request.put(Command::wait).put(timeout_s);
    for (const std::string& key : keys) request.put_text(key);
    const Reply reply = ask(request.take(), "wait", keys.front(), timeout_s);
    if (reply.answer == Answer::late) refuse_late("wait", reply.value, timeout_s);
  }

 private:
  [[noreturn]] void refuse_late(const char* verb, const std::string& key, double waited_s) const {
    throw CommError(text("store ", verb, ": nobody set key \"", key, "\" at ", place_, " within ",
                         waited_s, " s; a rank is missing or ended early, look at its output"));
  }

  // The reply to `body`, which the server may hold back for `held_s`.
  Reply ask(const Bytes& body, const char* verb, const std::string& key, double held_s) {
    const std::scoped_lock lock(mutex_);
    LOCKSTEP_CHECK(body.size() <= protocol::body_bytes_max, "store ", verb, ": key \"", key,
                   "\" with its value takes ", body.size(), " bytes, more than ",
                   protocol::body_bytes_max, "; a store holds addresses and small reports");
    const Deadline deadline = deadline_after(held_s + timeout_s_);
    const auto size = static_cast<std::uint32_t>(body.size());
    Bytes frame = ByteWriter().put(size).take();
    frame.insert(frame.end(), body.begin(), body.end());
    const std::string what = text(verb, " of key \"", key, "\"");
    transfer(frame, POLLOUT, deadline, what);

    Bytes head(sizeof size);
    transfer(head, POLLIN, deadline, what);
    const auto reply_size = ByteReader(head).get<std::uint32_t>();
    if (reply_size > 2 * protocol::body_bytes_max) lose(what, "its answer is malformed");
    Bytes reply(reply_size);
    transfer(reply, POLLIN, deadline, what);
    ByteReader reader(reply);
    const auto answer = reader.get<Answer>();
    return {answer, reader.get_text()};
  }

  // Sends or receives all of `bytes`. After a failure the connection is of no use any more.
  void transfer(std::span<std::byte> bytes, short direction, Deadline deadline,
                const std::string& what) {
    while (!bytes.empty()) {
      const int fd = connection_.get();
      if (fd < 0) lose(what, "the connection was lost before");
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
    connection_.reset();
    throw CommError(text("store ", what, " at ", place_, " failed: ", why,
                         "; the launcher or rank 0, which hosts the store, has probably ended"));
  }

  std::string place_;
  double timeout_s_;
  std::mutex mutex_;  // guards connection_ for one request and its reply
  Descriptor connection_;
};

class PrefixStore final : public Store {
 public:
  PrefixStore(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  void set(const std::string& key, const std::string& value) override {
    store_.set(full(key), value);
  }
  std::string get(const std::string& key) override { return store_.get(full(key)); }
  std::int64_t add(const std::string& key, std::int64_t amount) override {
    return store_.add(full(key), amount);
  }
  bool check(const std::string& key) override { return store_.check(full(key)); }
  void wait(std::span<const std::string> keys, double timeout_s) override {
    std::vector<std::string> all;
    for (const std::string& key : keys) all.push_back(full(key));
    store_.wait(all, timeout_s);
  }

 private:
  std::string full(const std::string& key) const { return prefix_ + "/" + key; }
  Store& store_;
  std::string prefix_;
};

}  // namespace

std::unique_ptr<Store> connect_store(const std::string& host, int port, double timeout_s) {
  return std::make_unique<TcpStore>(host, port, timeout_s);
}

std::unique_ptr<Store> with_prefix(Store& store, std::string prefix) {
  return std::make_unique<PrefixStore>(store, std::move(prefix));
}

}  // namespace lockstep::comm
