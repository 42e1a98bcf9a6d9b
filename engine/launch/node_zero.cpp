#include "engine/launch/node_zero.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <list>
#include <random>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/launch/channel.hpp"
#include "engine/launch/messages.hpp"

namespace lockstep::launch {

namespace {

using comm::Descriptor;
using comm::Endpoint;
using nlohmann::json;

// A launcher that has connected; `hello` is there once it has said it.
struct Guest {
  Channel channel;
  std::optional<Hello> hello;
};

// No other run has it: 64 bits of the system's randomness.
std::string new_run_id() {
  std::random_device random;
  std::ostringstream digits;
  digits << std::hex << std::setfill('0') << std::setw(8) << random() << std::setw(8) << random();
  return digits.str();
}

// Gathers the launchers of all nodes but this one.
class Meeting {
 public:
  Meeting(const LaunchOptions& options, Descriptor listener)
      : options_(options), listener_(std::move(listener)) {}

  // By node number; nodes()[0] is no guest's and stays empty.
  std::vector<std::optional<Guest>> gather() {
    const auto deadline = comm::deadline_after(options_.nodes.timeout_s);
    while (static_cast<int>(known()) < options_.nodes.count - 1) {
      std::vector<pollfd> entries{{listener_.get(), POLLIN, 0}};
      for (const Guest& guest : guests_) entries.push_back({guest.channel.fd(), POLLIN, 0});
      if (poll(entries.data(), entries.size(), comm::poll_ms_until(deadline)) == 0) give_up();
      for (Guest& guest : guests_) hear(guest);
      guests_.remove_if([](const Guest& guest) { return guest.channel.lost(); });
      if (entries[0].revents != 0) accept_guest();
    }
    return seated();
  }

 private:
  std::size_t known() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(guests_, [](const Guest& guest) { return guest.hello.has_value(); }));
  }

  void accept_guest() {
    Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.get() >= 0) guests_.push_back({Channel(std::move(connection)), {}});
  }

  void hear(Guest& guest) {
    for (const json& message : guest.channel.receive()) {
      std::optional<Hello> hello;
      try {
        hello = message.at("hello").get<Hello>();
      } catch (const json::exception&) {
      }
      const std::string why = hello ? complaint_about(*hello) : "that is not a launcher's hello";
      if (why.empty()) {
        guest.hello = hello;
        continue;
      }
      std::cerr << "lab run: refused the launcher at " + guest.channel.peer() + ": " + why + "\n";
      guest.channel.send({{"refused", {{"why", why}}}});
      guest.channel = Channel(Descriptor());
    }
  }

  std::string complaint_about(const Hello& hello) const {
    const int count = options_.nodes.count;
    if (hello.lockstep != 1) return "the launchers have different versions";
    if (hello.nodes != count) {
      return text("--nnodes is ", hello.nodes, " on ", hello.host, ", but node 0 (", name_of_host(),
                  ") says ", count, "; use the same value on every node");
    }
    if (hello.node < -1 || hello.node >= count || hello.ranks < 1) {
      return text("--node-rank ", hello.node, " of ", hello.host, " is not between 0 and ",
                  count - 1);
    }
    const auto is_same = [&](const Guest& guest) {
      return guest.hello && hello.node >= 0 && guest.hello->node == hello.node;
    };
    const auto same = std::ranges::find_if(guests_, is_same);
    if (hello.node == 0 || same != guests_.end()) {
      return text("node ", hello.node,
                  " exists twice: ", hello.node == 0 ? name_of_host() : same->hello->host,
                  " already has it, and ", hello.host, " says --node-rank ", hello.node,
                  " too; give each node its own");
    }
    if (static_cast<int>(known()) == count - 1) return text("all ", count, " nodes have joined");
    return "";
  }

  std::vector<std::optional<Guest>> seated() {
    std::vector<std::optional<Guest>> nodes(static_cast<std::size_t>(options_.nodes.count));
    for (Guest& guest : guests_) {
      if (!guest.hello || guest.hello->node < 0) continue;
      nodes[static_cast<std::size_t>(guest.hello->node)] = std::move(guest);
      guest.hello.reset();
    }
    std::size_t next = 1;
    for (Guest& guest : guests_) {
      if (!guest.hello) continue;
      while (nodes[next]) ++next;
      nodes[next] = std::move(guest);
    }
    return nodes;
  }

  [[noreturn]] void give_up() {
    auto nodes = seated();
    std::string missing;
    int count = 0;
    for (std::size_t node = 1; node < nodes.size(); ++node) {
      if (nodes[node]) continue;
      missing += text(count++ == 0 ? "" : ", ", node);
    }
    const std::string report =
        text(count == 1 ? "node " : "nodes ", missing, " of ", options_.nodes.count,
             " did not reach ", text_of(options_.nodes.endpoint), " within ",
             options_.nodes.timeout_s, " s; start the same command there, with --nnodes ",
             options_.nodes.count, " and an --rdzv-endpoint that reaches this machine");
    for (auto& guest : nodes) {
      if (guest) guest->channel.send({{"end", {{"code", 1}, {"report", report}}}});
    }
    throw CommError(report);
  }

  const LaunchOptions& options_;
  Descriptor listener_;
  std::list<Guest> guests_;  // in the order of arrival
};

class NodeZero final : public Nodes {
 public:
  NodeZero(const LaunchOptions& options, Endpoint at, std::string listens_on,
           std::vector<std::optional<Guest>> guests)
      : options_(options),
        at_(std::move(at)),
        listens_on_(std::move(listens_on)),
        guests_(std::move(guests)),
        run_id_(options.run_id.empty() ? new_run_id() : options.run_id),
        ranks_per_node_(counts_of(options, guests_)),
        coordinator_(ranks_per_node_, options.max_restarts) {}

  void start() override { carry(coordinator_.begin()); }
  void begun() override { store_.emplace(std::move(store_listener_), listens_on_); }

  void add_to(std::vector<pollfd>& entries) const override {
    for (const auto& guest : guests_) {
      if (guest && !guest->channel.lost()) entries.push_back({guest->channel.fd(), POLLIN, 0});
    }
  }

  std::vector<Order> serve() override {
    for (std::size_t node = 1; node < guests_.size(); ++node) {
      if (guests_[node]) hear(node, *guests_[node]);
    }
    return std::exchange(orders_, {});
  }

  void failed() override { carry(coordinator_.failed(0)); }
  void interrupted(const std::string& who) override { carry(coordinator_.interrupted(0, who)); }
  void ended(const std::vector<Failure>& failures, int stopped) override {
    carry(coordinator_.ended(0, failures, stopped));
  }

 private:
  static std::vector<int> counts_of(const LaunchOptions& options,
                                    const std::vector<std::optional<Guest>>& guests) {
    std::vector<int> counts{options.ranks};
    for (std::size_t node = 1; node < guests.size(); ++node) {
      counts.push_back(guests[node]->hello->ranks);
    }
    return counts;
  }

  void hear(std::size_t node, Guest& guest) {
    try {
      for (const json& message : guest.channel.receive()) note(node, message);
    } catch (const json::exception&) {
      guest.channel = Channel(Descriptor());
    }
    if (!guest.channel.lost()) return;
    const std::string host = guest.hello->host;
    guests_[node].reset();
    carry(coordinator_.lost(node, text("the launcher of node ", node, " (", host,
                                       ") is gone, and its ranks with it; look at its output")));
  }

  void note(std::size_t node, const json& message) {
    if (message.contains("failed")) carry(coordinator_.failed(node));
    if (message.contains("interrupted")) {
      carry(coordinator_.interrupted(node, message["interrupted"].at("who")));
    }
    if (message.contains("ended")) {
      const json& ended = message["ended"];
      carry(coordinator_.ended(node, ended.at("failures"), ended.at("stopped")));
    }
  }

  void carry(const std::optional<Command>& command) {
    if (!command) return;
    Order order{*command, {}};
    if (command->kind == Command::Kind::begin) order.plan = prepare(command->attempt);
    for (std::size_t node = 1; node < guests_.size(); ++node) {
      if (guests_[node]) guests_[node]->channel.send(message_of(order, static_cast<int>(node)));
    }
    orders_.push_back(order);
  }

  // A new store and a free port for rank 0: nothing of an earlier attempt is met again.
  Plan prepare(int attempt) {
    store_.reset();
    try {
      store_listener_ = comm::listen_on(listens_on_, options_.port);
    } catch (const CommError& error) {
      throw UsageError(error.what());  // the port that was asked for
    }
    const int store_port = comm::port_of(store_listener_);
    master_port_ = {};
    int master_port = options_.master_port;
    if (master_port == 0) {
      master_port_ = reserve_port(listens_on_);
      master_port = comm::port_of(master_port_);
    } else {
      check_port_is_free(listens_on_, master_port, "--master-port");
    }
    std::string own = options_.nodes.local_addr;
    if (own.empty()) own = address_towards({at_.host, store_port});
    return {attempt,
            options_.max_restarts,
            run_id_,
            ranks_per_node_,
            0,
            {at_.host, store_port},
            {at_.host, master_port},
            own,
            ""};
  }

  static json message_of(const Order& order, int node) {
    const Command& command = order.command;
    const Plan& plan = order.plan;
    switch (command.kind) {
      case Command::Kind::begin:
        return {{"begin", Begin{plan.attempt, plan.max_restarts, plan.run_id, plan.ranks_per_node,
                                node, plan.store.port, plan.master.port, command.report}}};
      case Command::Kind::stop:
        return {{"stop", json::object()}};
      case Command::Kind::end:
        break;
    }
    return {{"end", {{"code", command.code}, {"report", command.report}}}};
  }

  const LaunchOptions& options_;
  Endpoint at_;
  std::string listens_on_;
  std::vector<std::optional<Guest>> guests_;  // by node
  std::string run_id_;
  std::vector<int> ranks_per_node_;
  Coordinator coordinator_;
  Descriptor store_listener_;  // until the store is served
  std::optional<comm::StoreServer> store_;
  Descriptor master_port_;  // held free for rank 0
  std::vector<Order> orders_;
};

}  // namespace

std::unique_ptr<Nodes> lead_alone(const LaunchOptions& options) {
  Endpoint at = options.nodes.endpoint;
  if (at.host.empty()) at.host = "127.0.0.1";
  std::vector<std::optional<Guest>> nobody(1);
  return std::make_unique<NodeZero>(options, at, at.host, std::move(nobody));
}

std::unique_ptr<Nodes> lead(const LaunchOptions& options, Listener listener) {
  const Endpoint at{options.nodes.endpoint.host, comm::port_of(listener.socket)};
  const int others = options.nodes.count - 1;
  std::cerr << text("lab run: node 0 of ", options.nodes.count, " at ", text_of(at),
                    ": waiting for ", others, others == 1 ? " other node\n" : " other nodes\n");
  auto guests = Meeting(options, std::move(listener.socket)).gather();
  return std::make_unique<NodeZero>(options, at, listener.host, std::move(guests));
}

}  // namespace lockstep::launch
