// The meeting, and the launcher of a node that obeys. Node 0's is in node_zero.cpp.
#include "engine/launch/nodes.hpp"

#include <filesystem>
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/base/shell_word.hpp"
#include "engine/launch/address.hpp"
#include "engine/launch/channel.hpp"
#include "engine/launch/messages.hpp"
#include "engine/launch/node_zero.hpp"

namespace lockstep::launch {

namespace {

using comm::Endpoint;
using nlohmann::json;

Order order_of(Command::Kind kind, int code = 0, std::string report = "") {
  Order order;
  order.command.kind = kind;
  order.command.code = code;
  order.command.report = std::move(report);
  return order;
}

Hello hello_of(const LaunchOptions& options) {
  Hello hello;
  hello.nodes = options.nodes.count;
  if (options.nodes.elastic) hello.nodes_min = options.nodes.elastic->nodes_min;
  hello.node = options.nodes.rank.value_or(-1);
  hello.ranks = options.ranks;
  hello.host = name_of_host();
  hello.command = command_to_compare(options);
  return hello;
}

class ObeyingNode final : public Nodes {
 public:
  // Connects, says hello and waits for the first order.
  explicit ObeyingNode(const LaunchOptions& options)
      : elastic_(options.nodes.elastic.has_value()),
        at_(options.nodes.endpoint),
        local_addr_(options.nodes.local_addr),
        channel_(
            comm::connect_to(at_.host, at_.port, comm::deadline_after(options.nodes.timeout_s))) {
    if (local_addr_.empty()) local_addr_ = address_towards(at_);
    channel_.send({{"hello", hello_of(options)}});
    // Node 0 gives up after the same time and says so; the rest is for its answer to come.
    const double patience_s = options.nodes.timeout_s + 5;
    const auto deadline = comm::deadline_after(patience_s);
    while (orders_.empty()) {
      pollfd entry{channel_.fd(), POLLIN, 0};
      if (poll(&entry, 1, welcome_ ? -1 : comm::poll_ms_until(deadline)) == 0) {
        throw CommError(
            text("no launcher answered at ", text_of(at_), " within ", patience_s,
                 " s, though something listens there; does another program use the port?"));
      }
      receive();
    }
  }

  void start() override {}
  void begun() override { runs_ = true; }
  void add_to(std::vector<pollfd>& entries) const override {
    entries.push_back({channel_.fd(), POLLIN, 0});
  }
  std::vector<Order> serve() override {
    receive();
    return std::exchange(orders_, {});
  }
  void failed() override { channel_.send({{"failed", json::object()}}); }
  // This launcher leaves the run, if launchers come and go.
  void interrupted(const std::string& who) override {
    channel_.send({{"interrupted", {{"who", who}}}});
    if (elastic_ && interrupted_by_.empty()) interrupted_by_ = who;
    leave_if_told();
  }
  void ended(const std::vector<Failure>& failures, int stopped) override {
    runs_ = false;
    channel_.send({{"ended", {{"failures", failures}, {"stopped", stopped}}}});
    leave_if_told();
  }

 private:
  void receive() {
    if (over_) return;
    try {
      for (const json& message : channel_.receive()) obey(message);
    } catch (const json::exception&) {
      channel_ = Channel(comm::Descriptor());
    }
    if (!channel_.lost() || over_) return;
    over_ = true;
    orders_.push_back(
        order_of(Command::Kind::end, 1,
                 text("the launcher of node 0 at ", text_of(at_),
                      " is gone, so the ranks here were stopped; look at its output",
                      elastic_ ? ". It hosts the store, so no round follows: to continue, start "
                                 "the command again on every node"
                               : "")));
  }

  void leave_if_told() {
    if (interrupted_by_.empty() || runs_ || over_) return;
    over_ = true;
    orders_.push_back(order_of(Command::Kind::end, 1,
                               text("interrupted by ", interrupted_by_,
                                    ": this node has left the run, and others go on")));
  }

  void obey(const json& message) {
    if (message.contains("refused")) {
      throw UsageError(message["refused"].at("why").get<std::string>());
    }
    if (message.contains("welcome")) {
      welcome_ = true;
      std::cerr << message["welcome"].at("told").get<std::string>() << std::flush;
    }
    if (message.contains("begin")) {
      const Begin begin = message["begin"];
      Order order = order_of(Command::Kind::begin, 0, begin.report);
      order.plan = {begin.attempt,
                    begin.restarts,
                    begin.max_restarts,
                    begin.run_id,
                    begin.ranks_per_node,
                    begin.node,
                    {at_.host, begin.store_port},
                    {at_.host, begin.master_port},
                    local_addr_,
                    "",
                    elastic_};
      orders_.push_back(std::move(order));
    } else if (message.contains("stop")) {
      orders_.push_back(order_of(Command::Kind::stop));
      const bool saves = message["stop"].at("saves");
      if (saves) orders_.back().command.grace = Command::Grace::to_save;
    } else if (message.contains("wait")) {
      orders_.push_back(order_of(Command::Kind::wait, 0, message["wait"].at("report")));
    } else if (message.contains("end")) {
      const json& end = message["end"];
      orders_.push_back(order_of(Command::Kind::end, end.at("code"), end.at("report")));
      over_ = true;
    }
  }

  bool elastic_;
  Endpoint at_;
  std::string local_addr_;
  Channel channel_;
  bool welcome_ = false;        // node 0 knows this launcher, which waits for a round
  bool runs_ = false;           // ranks of it do
  std::string interrupted_by_;  // a signal; empty: none
  std::vector<Order> orders_;
  bool over_ = false;
};

}  // namespace

std::string command_to_compare(const LaunchOptions& options) {
  std::string line;
  for (const std::string& word : options.command) {
    line += line.empty() ? std::filesystem::path(word).filename().string() : " " + shell_word(word);
  }
  return line;
}

std::unique_ptr<Nodes> meet_nodes(const LaunchOptions& options) {
  const NodeOptions& nodes = options.nodes;
  if (nodes.count == 1) return lead_alone(options);
  if (nodes.rank == 0) return lead(options, listen_for_nodes(nodes.endpoint));
  if (!nodes.rank) {
    // The node that can listen at the endpoint is node 0; for the others it is in use, or not
    // theirs.
    std::optional<Listener> listener;
    try {
      listener = listen_for_nodes(nodes.endpoint);
    } catch (const UsageError&) {
    }
    if (listener) return lead(options, std::move(*listener));
  }
  return std::make_unique<ObeyingNode>(options);
}

}  // namespace lockstep::launch
