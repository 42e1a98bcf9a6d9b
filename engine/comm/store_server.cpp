// One thread, one poll(): it reads what has come, answers what can be answered, and keeps the rest
// as waiting clients until a key appears or their deadline passes.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <list>
#include <map>
#include <optional>

#include "engine/base/bytes.hpp"
#include "engine/comm/store_protocol.hpp"
#include "engine/comm/tcp_store.hpp"

namespace lockstep::comm {

namespace {

using protocol::Answer;
using protocol::Command;

struct Waiting {
  std::vector<std::string> keys;
  Deadline deadline;
  Command command;  // get answers with the value, wait with nothing
};

struct Client {
  Descriptor connection;
  Bytes in;   // received, not yet a whole frame
  Bytes out;  // answered, not yet taken
  std::optional<Waiting> waiting;
};

std::optional<std::int64_t> decimal_of(const std::string& value) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

void answer(Client& client, Answer kind, const std::string& value) {
  const Bytes body = ByteWriter().put(kind).put_text(value).take();
  Bytes frame = ByteWriter().put(static_cast<std::uint32_t>(body.size())).take();
  frame.insert(frame.end(), body.begin(), body.end());
  client.out.insert(client.out.end(), frame.begin(), frame.end());
}

class Server {
 public:
  Server(int listener, int stop) : listener_(listener), stop_(stop) {}

  void run() {
    while (true) {
      std::vector<pollfd> entries{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
      for (const Client& client : clients_) {
        // Who does not take answers is not read either, so nobody fills this process's memory.
        const int events = client.out.empty() ? POLLIN : POLLOUT;
        entries.push_back({client.connection.get(), static_cast<short>(events), 0});
      }
      if (poll(entries.data(), entries.size(), next_deadline_ms()) < 0) continue;
      if (entries[0].revents != 0) return;
      auto entry = entries.begin() + 2;
      for (auto client = clients_.begin(); client != clients_.end(); ++entry) {
        const bool alive = entry->revents == 0 || serve(*client);
        client = alive ? std::next(client) : clients_.erase(client);
      }
      if (entries[1].revents != 0) accept_client();
      settle_waiting();
    }
  }

 private:
  int next_deadline_ms() const {
    int soonest = -1;
    for (const Client& client : clients_) {
      if (!client.waiting) continue;
      const int ms = poll_ms_until(client.waiting->deadline);
      soonest = soonest < 0 ? ms : std::min(soonest, ms);
    }
    return soonest;
  }

  void accept_client() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) clients_.push_back(Client{Descriptor(fd), {}, {}, std::nullopt});
  }

  // Returns whether the connection is still good.
  bool serve(Client& client) {
    if (!client.out.empty()) return flush(client);
    std::byte part[4096];
    const ssize_t got = recv(client.connection.get(), part, sizeof part, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    client.in.insert(client.in.end(), part, part + got);
    try {
      while (take_frame(client)) {
      }
    } catch (const Error&) {
      return false;  // garbage: no sentence could reach whoever sent it
    }
    return flush(client);
  }

  bool take_frame(Client& client) {
    std::uint32_t size = 0;
    if (client.in.size() < sizeof size) return false;
    std::memcpy(&size, client.in.data(), sizeof size);
    if (size > protocol::body_bytes_max) throw Error("the frame is too long");
    if (client.in.size() < sizeof size + size) return false;
    if (client.waiting) throw Error("a request during a wait");
    const Bytes body(client.in.begin() + sizeof size, client.in.begin() + sizeof size + size);
    client.in.erase(client.in.begin(), client.in.begin() + sizeof size + size);
    handle(client, ByteReader(body));
    return true;
  }

  void handle(Client& client, ByteReader request) {
    const auto command = request.get<Command>();
    switch (command) {
      case Command::set: {
        const std::string key = request.get_text();
        values_[key] = request.get_text();
        return answer(client, Answer::ok, "");
      }
      case Command::add: {
        const std::string key = request.get_text();
        return add(client, key, request.get<std::int64_t>());
      }
      case Command::check: {
        const bool exists = values_.contains(request.get_text());
        return answer(client, exists ? Answer::ok : Answer::absent, "");
      }
      case Command::get:
      case Command::wait: {
        const auto seconds = request.get<double>();
        if (!(seconds >= 0 && seconds <= 1e6)) throw Error("no number of seconds");
        Waiting waiting{{}, deadline_after(seconds), command};
        while (!request.done()) waiting.keys.push_back(request.get_text());
        if (command == Command::get && waiting.keys.size() != 1) throw Error("get takes one key");
        client.waiting = std::move(waiting);
        return;
      }
    }
    throw Error("no such command");
  }

  void add(Client& client, const std::string& key, std::int64_t amount) {
    std::string& value = values_.try_emplace(key, "0").first->second;
    const auto old = decimal_of(value);
    std::int64_t sum = 0;
    if (!old || __builtin_add_overflow(*old, amount, &sum)) {
      return answer(client, Answer::refused, value);
    }
    value = std::to_string(sum);
    answer(client, Answer::ok, value);
  }

  void settle_waiting() {
    for (auto client = clients_.begin(); client != clients_.end();) {
      const bool alive = !client->waiting || settle(*client);
      client = alive ? std::next(client) : clients_.erase(client);
    }
  }

  bool settle(Client& client) {
    const Waiting& waiting = *client.waiting;
    const auto missing = std::ranges::find_if(
        waiting.keys, [&](const std::string& key) { return !values_.contains(key); });
    if (missing == waiting.keys.end()) {
      const bool fetch = waiting.command == Command::get;
      answer(client, Answer::ok, fetch ? values_.at(waiting.keys.front()) : "");
    } else if (poll_ms_until(waiting.deadline) == 0) {
      answer(client, Answer::late, *missing);
    } else {
      return true;
    }
    client.waiting.reset();
    return flush(client);
  }

  static bool flush(Client& client) {
    while (!client.out.empty()) {
      const ssize_t sent =
          send(client.connection.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      client.out.erase(client.out.begin(), client.out.begin() + sent);
    }
    return true;
  }

  int listener_;
  int stop_;
  std::list<Client> clients_;
  std::map<std::string, std::string> values_;
};

}  // namespace

StoreServer::StoreServer(int port, std::string host)
    : host_(std::move(host)),
      listener_(listen_on(host_, port)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      port_(port_of(listener_)),
      thread_([this] { Server(listener_.get(), stop_.get()).run(); }) {}

StoreServer::~StoreServer() {
  const std::uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

}  // namespace lockstep::comm
