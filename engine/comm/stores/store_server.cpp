// One thread, one poll(): it reads what has come, answers what can be answered, and keeps the rest
// as waiting clients until a key appears or their deadline passes.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>

#include "engine/base/bytes.hpp"
#include "engine/comm/stores/dictionary.hpp"
#include "engine/comm/stores/store_protocol.hpp"
#include "engine/comm/stores/tcp_store.hpp"

namespace lockstep::comm {

namespace {

using protocol::Answer;
using protocol::Command;

struct Waiting {
  std::vector<std::string> keys;
  Deadline deadline;
  Command command;          // get answers with the value, wait with nothing
  std::size_t missing = 0;  // the key that was not there when this was last looked at
};

struct Client {
  Descriptor connection;
  Bytes in;   // received, not yet a whole frame
  Bytes out;  // answered, not yet taken
  std::optional<Waiting> waiting;
};

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
      const short newcomers = accepting_ ? POLLIN : 0;
      std::vector<pollfd> entries{{stop_, POLLIN, 0}, {listener_, newcomers, 0}};
      for (const Client& client : clients_) {
        // A client that does not take answers is not read either.
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
      accepting_ = entries[1].revents == 0 || accept_client();
      settle_waiting();
    }
  }

 private:
  int next_deadline_ms() const {
    int soonest = accepting_ ? -1 : 100;
    for (const Client& client : clients_) {
      if (!client.waiting) continue;
      const int ms = poll_ms_until(client.waiting->deadline);
      soonest = soonest < 0 ? ms : std::min(soonest, ms);
    }
    return soonest;
  }

  // False when this process may open no more descriptors: then the newcomer waits until the next
  // round or a moment, instead of being offered again and again.
  bool accept_client() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) clients_.push_back(Client{Descriptor(fd), {}, {}, std::nullopt});
    return fd >= 0 || (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS);
  }

  // Returns whether the connection is still good. One answer at a time is kept for a client, so
  // that many small requests with long answers do not fill this process's memory.
  bool serve(Client& client) {
    if (!(client.out.empty() ? receive(client) : flush(client))) return false;
    try {
      while (client.out.empty() && take_frame(client)) {
        if (!flush(client)) return false;
      }
    } catch (const Error&) {
      return false;  // garbage: no sentence could reach whoever sent it
    }
    return true;
  }

  static bool receive(Client& client) {
    std::byte part[4096];
    const ssize_t got = recv(client.connection.get(), part, sizeof part, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    client.in.insert(client.in.end(), part, part + got);
    return got > 0;
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
    if (command == Command::get || command == Command::wait) {
      client.waiting = waiting_of(command, request);
      return;
    }
    try {
      change(client, command, request);
    } catch (const ContractError& refusal) {
      answer(client, Answer::refused, refusal.what());
    }
  }

  // The commands that are answered at once.
  void change(Client& client, Command command, ByteReader& request) {
    const std::string key = request.get_text();
    switch (command) {
      case Command::set:
        all_.set(key, request.get_text());
        return answer(client, Answer::ok, "");
      case Command::add:
        return answer(client, Answer::ok,
                      std::to_string(all_.add(key, request.get<std::int64_t>())));
      case Command::append:
        all_.append(key, request.get_text());
        return answer(client, Answer::ok, "");
      case Command::check:
        return answer(client, all_.find(key) != nullptr ? Answer::ok : Answer::absent, "");
      case Command::compare_set: {
        const std::string expected = request.get_text();
        return answer(client, Answer::ok, all_.compare_set(key, expected, request.get_text()));
      }
      case Command::delete_key:
        return answer(client, all_.erase(key) ? Answer::ok : Answer::absent, "");
      case Command::count_keys:
        return answer(client, Answer::ok, std::to_string(all_.count(key)));
      default:
        throw Error("no such command");
    }
  }

  static Waiting waiting_of(Command command, ByteReader& request) {
    const auto seconds = request.get<double>();
    if (!(seconds >= 0 && seconds <= 1e6)) throw Error("no number of seconds");
    Waiting waiting{{}, deadline_after(seconds), command};
    while (!request.done()) waiting.keys.push_back(request.get_text());
    if (waiting.keys.empty() || (command == Command::get && waiting.keys.size() != 1)) {
      throw Error("not one key to wait for");
    }
    return waiting;
  }

  void settle_waiting() {
    for (auto client = clients_.begin(); client != clients_.end();) {
      const bool alive = !client->waiting || settle(*client);
      client = alive ? std::next(client) : clients_.erase(client);
    }
  }

  // Answers the wait if that can be done now; returns whether the connection is still good. While
  // the key that was missing last is still missing, the others need no look: that keeps the cost of
  // N ranks that wait for N keys at N looks a change.
  bool settle(Client& client) {
    Waiting& waiting = *client.waiting;
    if (all_.find(waiting.keys[waiting.missing]) != nullptr) {
      waiting.missing = all_.first_missing(waiting.keys);
    }
    if (waiting.missing == waiting.keys.size()) {
      const bool fetch = waiting.command == Command::get;
      answer(client, Answer::ok, fetch ? *all_.find(waiting.keys.front()) : "");
    } else if (poll_ms_until(waiting.deadline) == 0) {
      answer(client, Answer::late, waiting.keys[all_.first_missing(waiting.keys)]);
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
  bool accepting_ = true;
  std::list<Client> clients_;
  Dictionary all_;
};

}  // namespace

StoreServer::StoreServer(int port, std::string host) : StoreServer(listen_on(host, port), host) {}

StoreServer::StoreServer(Descriptor listener, std::string host)
    : host_(std::move(host)),
      listener_(std::move(listener)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      port_(port_of(listener_)),
      thread_([this] { Server(listener_.get(), stop_.get()).run(); }) {}

StoreServer::~StoreServer() {
  const std::uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

}  // namespace lockstep::comm
