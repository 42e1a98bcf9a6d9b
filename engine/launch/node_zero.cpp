#include "engine/launch/node_zero.hpp"

#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <random>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/stopwatch.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/launch/meeting.hpp"

namespace lockstep::launch {

namespace {

using comm::Descriptor;
using comm::Endpoint;
using nlohmann::json;

// No other run has it: 64 bits of the system's randomness.
std::string new_run_id() {
  std::random_device random;
  std::ostringstream digits;
  digits << std::hex << std::setfill('0') << std::setw(8) << random() << std::setw(8) << random();
  return digits.str();
}

// Launcher n is node n, where membership is fixed; elsewhere launchers have the numbers of their
// arrival.
class NodeZero final : public Nodes {
 public:
  NodeZero(const LaunchOptions& options, Endpoint at, std::string listens_on,
           std::vector<std::optional<Guest>> guests)
      : NodeZero(options, std::move(at), std::move(listens_on),
                 Coordinator(counts_of(options, guests), options.max_restarts)) {
    for (std::size_t node = 1; node < guests.size(); ++node) {
      guests_.emplace(static_cast<int>(node), std::move(*guests[node]));
    }
  }
  // Launchers come and go.
  NodeZero(const LaunchOptions& options, const Endpoint& at, Listener listener)
      : NodeZero(options, at, listener.host,
                 Coordinator(options.max_restarts, membership_of(options.nodes))) {
    door_ = std::move(listener.socket);
  }

  void start() override {
    if (!elastic()) return carry(coordinator_.begin());
    carry(coordinator_.at(now_s()).arrived(0, {options_.ranks, 0, name_of_host()}));
  }
  void begun() override { store_.emplace(std::move(store_listener_), listens_on_); }

  void add_to(std::vector<pollfd>& entries) const override {
    if (elastic()) entries.push_back({door_.get(), POLLIN, 0});
    for (const Guest& guest : strangers_) entries.push_back({guest.channel.fd(), POLLIN, 0});
    for (const auto& [launcher, guest] : guests_) {
      if (!guest.channel.lost()) entries.push_back({guest.channel.fd(), POLLIN, 0});
    }
  }

  std::optional<comm::Deadline> serves_at() const override {
    const auto wakes_at = coordinator_.wakes_at();
    if (!wakes_at) return std::nullopt;
    return comm::deadline_after(std::max(*wakes_at - now_s(), 0.0));
  }

  std::vector<Order> serve() override {
    for (auto guest = guests_.begin(); guest != guests_.end();) {
      hear(guest->first, guest->second);
      guest = guest->second.channel.lost() ? guests_.erase(guest) : std::next(guest);
    }
    if (elastic()) open_door();
    carry(coordinator_.at(now_s()).time_passed());
    return std::exchange(orders_, {});
  }

  void failed() override { carry(coordinator_.at(now_s()).failed(0)); }
  void interrupted(const std::string& who) override {
    carry(coordinator_.at(now_s()).interrupted(0, who));
  }
  void ended(const std::vector<Failure>& failures, int stopped) override {
    carry(coordinator_.at(now_s()).ended(0, failures, stopped));
  }

 private:
  NodeZero(const LaunchOptions& options, Endpoint at, std::string listens_on,
           Coordinator coordinator)
      : options_(options),
        at_(std::move(at)),
        listens_on_(std::move(listens_on)),
        run_id_(options.run_id.empty() ? new_run_id() : options.run_id),
        coordinator_(std::move(coordinator)) {}

  static std::vector<int> counts_of(const LaunchOptions& options,
                                    const std::vector<std::optional<Guest>>& guests) {
    std::vector<int> counts{options.ranks};
    for (std::size_t node = 1; node < guests.size(); ++node) {
      counts.push_back(guests[node]->hello->ranks);
    }
    return counts;
  }
  static Membership membership_of(const NodeOptions& nodes) {
    return {nodes.elastic->nodes_min, nodes.count, nodes.elastic->last_call_s, nodes.timeout_s};
  }

  bool elastic() const { return options_.nodes.elastic.has_value(); }
  double now_s() const { return clock_.seconds(); }

  // Lets in the launchers that knock, or refuses them.
  void open_door() {
    while (auto guest = accept_guest(door_)) strangers_.push_back(std::move(*guest));
    for (auto guest = strangers_.begin(); guest != strangers_.end();) {
      const bool welcome = hear_hello(*guest, [&](const Hello& hello) {
        const std::string why = complaint_about_count(hello, options_);
        return why.empty() ? complaint_about_command(hello, options_) : why;
      });
      if (welcome) admit(std::move(*guest));
      guest = welcome || guest->channel.lost() ? strangers_.erase(guest) : std::next(guest);
    }
  }

  void admit(Guest&& knocked) {
    const int launcher = came_++;
    Guest& guest = guests_.emplace(launcher, std::move(knocked)).first->second;
    const Hello& hello = *guest.hello;
    const auto next = coordinator_.at(now_s()).arrived(
        launcher,
        {hello.ranks, hello.node < 0 ? std::nullopt : std::optional(hello.node), hello.host});
    std::string told;
    if (coordinator_.present() > options_.nodes.count) {
      told = text("lab run: ", hello.host, " waits: all ", counted(options_.nodes.count, "place"),
                  " of --nnodes ", options_.nodes.elastic->nodes_min, ":", options_.nodes.count,
                  " are taken\n");
      std::cerr << told << std::flush;
    }
    guest.channel.send({{"welcome", {{"told", told}}}});
    carry(next);
  }

  void hear(int launcher, Guest& guest) {
    coordinator_.at(now_s());
    try {
      for (const json& message : guest.channel.receive()) note(launcher, message);
    } catch (const json::exception&) {
      guest.channel = Channel(Descriptor());
    }
    if (!guest.channel.lost()) return;
    const auto node = coordinator_.node_of(launcher);
    carry(coordinator_.departed(
        launcher, text("the launcher of ", node ? text("node ", *node) : "a node", " (",
                       guest.hello->host, ") is gone, and its ranks with it; look at its output")));
  }

  void note(int launcher, const json& message) {
    if (message.contains("failed")) carry(coordinator_.failed(launcher));
    if (message.contains("interrupted")) {
      carry(coordinator_.interrupted(launcher, message["interrupted"].at("who")));
    }
    if (message.contains("ended")) {
      const json& ended = message["ended"];
      carry(coordinator_.ended(launcher, ended.at("failures"), ended.at("stopped")));
    }
  }

  // The end is told to all; everything else to those that take part.
  void carry(const std::optional<Command>& command) {
    if (!command) return;
    Order order{*command, {}};
    if (command->kind == Command::Kind::begin) order.plan = prepare(*command);
    for (auto& [launcher, guest] : guests_) {
      const auto node = coordinator_.node_of(launcher);
      if (!node && command->kind != Command::Kind::end) continue;
      guest.channel.send(message_of(order, node.value_or(0)));
    }
    orders_.push_back(order);
  }

  // A new store and a free port for rank 0: nothing of an earlier attempt is met again.
  Plan prepare(const Command& begins) {
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
    return {begins.attempt,
            begins.restarts,
            options_.max_restarts,
            run_id_,
            ranks_per_node(begins.members),
            0,
            {at_.host, store_port},
            {at_.host, master_port},
            own,
            "",
            elastic()};
  }

  std::vector<int> ranks_per_node(const std::vector<int>& members) const {
    std::vector<int> counts;
    counts.reserve(members.size());
    for (const int launcher : members) {
      counts.push_back(launcher == 0 ? options_.ranks : guests_.at(launcher).hello->ranks);
    }
    return counts;
  }

  static json message_of(const Order& order, int node) {
    const Command& command = order.command;
    const Plan& plan = order.plan;
    switch (command.kind) {
      case Command::Kind::begin:
        return {{"begin", Begin{plan.attempt, plan.restarts, plan.max_restarts, plan.run_id,
                                plan.ranks_per_node, node, plan.store.port, plan.master.port,
                                command.report}}};
      case Command::Kind::stop:
        return {{"stop", {{"saves", command.grace == Command::Grace::to_save}}}};
      case Command::Kind::wait:
        return {{"wait", {{"report", command.report}}}};
      case Command::Kind::end:
        break;
    }
    return {{"end", {{"code", command.code}, {"report", command.report}}}};
  }

  const LaunchOptions& options_;
  Endpoint at_;
  std::string listens_on_;
  Descriptor door_;              // where launchers come and go
  std::list<Guest> strangers_;   // that have knocked there, and said nothing yet
  std::map<int, Guest> guests_;  // by launcher
  int came_ = 1;                 // launchers, with this one
  std::string run_id_;
  Coordinator coordinator_;
  Stopwatch clock_;
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
  if (options.nodes.elastic) {
    const int least = options.nodes.elastic->nodes_min;
    std::cerr << text("lab run: node 0 of ", least, ":", options.nodes.count, " at ", text_of(at),
                      ": the others may come and go\n");
    return std::make_unique<NodeZero>(options, at, std::move(listener));
  }
  const int others = options.nodes.count - 1;
  std::cerr << text("lab run: node 0 of ", options.nodes.count, " at ", text_of(at),
                    ": waiting for ", others, others == 1 ? " other node\n" : " other nodes\n");
  auto guests = gather_guests(options, std::move(listener.socket));
  return std::make_unique<NodeZero>(options, at, listener.host, std::move(guests));
}

}  // namespace lockstep::launch
