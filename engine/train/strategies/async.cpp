// A worker is the rank's main strand. A server is some strands beside it, which outlive the steps:
// they end when all workers have finished, and end() waits for that.
#include "engine/train/strategies/async.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/async_sgd/pair_groups.hpp"
#include "engine/parallel/async_sgd/parameter_server.hpp"
#include "engine/parallel/async_sgd/server.hpp"
#include "engine/parallel/async_sgd/server_links.hpp"
#include "engine/parallel/async_sgd/shard.hpp"

namespace lockstep::train {
namespace {

using async_sgd::Clip;
using async_sgd::Shard;

using Shards = std::vector<std::vector<std::size_t>>;  // of the model's parameters, by server

Shards shards_of(std::span<Parameter* const> parameters, int servers) {
  std::vector<std::int64_t> counts;
  for (const Parameter* p : parameters) counts.push_back(p->value.numel());
  return async_sgd::assign_shards(counts, servers);
}

// The server of this rank: its part of the model.
class RankServer {
 public:
  using Tell = std::function<void(const std::string&)>;

  RankServer(std::vector<std::unique_ptr<comm::ProcessGroup>> workers, Strands& strands,
             std::unique_ptr<Shard> shard, Tell tell)
      : shard_(std::move(shard)),
        tell_(std::move(tell)),
        groups_(std::move(workers)),
        strands_(strands) {}

  Shard& shard() { return *shard_; }  // before begin()

  void begin(std::int64_t staleness, double clip_norm, Device& host) {
    async_sgd::ServerOptions options;
    options.staleness = staleness;
    options.clip_norm = staleness == 0 ? clip_norm : 0;
    options.update = [this](const Tensor& gradient, double rate) {
      shard_->update(gradient, rate);
    };
    options.state = [this] { return shard_->state(); };
    options.on_lost = [this](int worker, const std::string& why) {
      lost_.push_back(text("worker ", worker, " is lost, and the others go on without it: ", why));
      if (tell_) tell_(lost_.back());
    };
    options.stopped = [this] { return stopped_.load(); };
    std::vector<comm::ProcessGroup*> groups;
    for (const auto& group : groups_) groups.push_back(group.get());
    server_.emplace(groups, shard_->parameters(), strands_, options, host);
  }
  bool serves() const { return server_.has_value(); }

  // A sentence each; after end().
  const std::vector<std::string>& lost() const { return lost_; }
  std::int64_t bytes_sent() const {
    std::int64_t bytes = 0;
    for (const auto& group : groups_) bytes += group->traffic().bytes_sent;
    return bytes;
  }
  async_sgd::ServerReport end() { return server_->join(); }
  void give_up(const std::string& why) {
    stopped_ = true;
    for (const auto& group : groups_) Reach::give_up(*group, why);
  }

 private:
  // Access to a function of a group that ends it, so that nobody waits for this rank any more.
  struct Reach : comm::ProcessGroup {
    static void give_up(comm::ProcessGroup& group, const std::string& why) {
      give_up_in(group, why);
    }
  };
  std::unique_ptr<Shard> shard_;
  Tell tell_;
  std::vector<std::unique_ptr<comm::ProcessGroup>> groups_;
  Strands& strands_;
  std::vector<std::string> lost_;  // by one strand of the server at a time
  std::atomic<bool> stopped_ = false;
  std::optional<async_sgd::ParameterServer> server_;  // its strands use what is above
};

class Async final : public WholeModel {
 public:
  Async(comm::ProcessGroup& world, Replica replica, const optim::OptimizerSpec& optimizer,
        double clip_norm, const AsyncOptions& options)
      : WholeModel(world, std::move(replica), clip_norm),
        alone_(world.split(world.rank(), 0)),
        options_(options),
        shards_(shards_of(model_->parameters(), servers())) {
    async_sgd::PairGroups pairs = async_sgd::connect(world, servers(), *options.strands);
    groups_ = std::move(pairs.to_servers);
    if (world.rank() < servers()) {
      server_ = std::make_unique<RankServer>(
          std::move(pairs.to_workers), *options.strands,
          std::make_unique<Shard>(model_->parameters(), my_places(), optimizer),
          reports() ? options.tell : nullptr);
    }
    make_links();
    if (!server_ && options.on_spare) options.on_spare();
  }
  ~Async() override {
    if (ended_) return;
    std::string why = text("rank ", group_.rank(), " stopped training");
    if (!links_->failure().empty()) why += text(": ", links_->failure());
    try {
      links_->give_up(why);
      if (server_) server_->give_up(why);
    } catch (const Error&) {  // a simulated run that is over, which ends the strands
    }
  }

  // Rank 0 reports: the others are in no group with it.
  RankPosition position() const override {
    return {Role::train, group_.rank(), group_.size(), group_.rank() == 0 ? 0 : -1};
  }
  comm::ProcessGroup& trainers() override { return *alone_; }

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    begin();
    const std::int64_t sent_before = bytes_sent();
    Line line(*this, rate);
    const auto gradient = [&](const Tensor&) {  // the model has the parameters
      line.loss = compute(batches, occasion);
      if (options_.staleness > 0 && clip_norm_ > 0) {
        optim::clip_grad_norm(model_->parameters(), clip_norm_);
      }
      put_gradients();
      return flat_;
    };
    async_sgd::work(line, gradient, 1);  // between steps, the loop evaluates and saves
    cost_ = {bytes_sent() - sent_before, {line.waited_s, line.waited_s}, line.answer.staleness};
    if (!numbers()) return no_loss;
    return options_.staleness == 0 ? line.answer.loss : line.loss;
  }

  void settle() override {
    if (!reports()) return;
    begin();
    links_->settle();
    take_parameters();
    settled_ = true;
  }

  Evaluation evaluate(const data::Dataset& dataset) override {
    if (!reports()) return {no_loss, no_loss};
    refresh();
    return train::evaluate(*alone_, *model_, dataset);
  }

  std::vector<Piece> pieces() override {
    if (ended_ || !reports() || !numbers()) return whole_pieces(*model_, *optimizer_);
    begin();
    make_state();
    const std::vector<optim::StateTensor> state = optimizer_->state();
    std::vector<std::vector<Tensor>> by_server;
    for (const auto& places : shards_) {
      std::vector<Tensor>& of_server = by_server.emplace_back();
      for (const optim::StateTensor& piece : state) {
        const bool is_its = std::ranges::any_of(places, [&](std::size_t place) {
          return async_sgd::is_state_of(piece.name, *model_->parameters()[place]);
        });
        if (is_its) of_server.push_back(piece.value);
      }
    }
    links_->pull_state(by_server);
    take_parameters();
    optimizer_->load_state(state);  // counts of updates are copies
    return whole_pieces(*model_, *optimizer_);
  }

  void restore(const checkpoint::SavedRun& saved) override {
    WholeModel::restore(saved);
    if (server_) server_->shard().load(model_->parameters(), my_places(), *optimizer_);
  }

  void end() override {
    begin();
    links_->finish();
    if (server_) {
      async_sgd::ServerReport report = server_->end();
      asynchrony_.staleness = std::move(report.staleness);
      if (reports()) asynchrony_.lost = server_->lost();
    }
    ended_ = true;
    WholeModel::end();
  }
  Asynchrony asynchrony() const override { return asynchrony_; }

 private:
  // One step's line to the servers. On the wire, a push brings the parameters of the next pull.
  class Line final : public async_sgd::Servers {
   public:
    Line(Async& worker, double rate) : worker_(worker), rate_(rate) {}

    Tensor pull() override {
      if (!std::exchange(worker_.pulled_, true)) {
        worker_.links_->pull();
        worker_.take_parameters();
      }
      return worker_.flat_;
    }
    void push(const Tensor& gradient) override {
      if (!gradient.same_place(worker_.flat_)) worker_.flat_.copy_(gradient);
      worker_.enter(Phase::other);
      const double began_s = worker_.group_.now_s();
      answer = worker_.links_->push(loss, rate_);
      waited_s = worker_.group_.now_s() - began_s;
      worker_.take_parameters();
    }
    double loss = 0, waited_s = 0;
    async_sgd::ServersReply answer{};

   private:
    Async& worker_;
    double rate_;
  };

  int servers() const { return servers_of(options_, group_.size()); }
  bool reports() const { return group_.rank() == 0; }
  const std::vector<std::size_t>& my_places() const {
    return shards_[static_cast<std::size_t>(group_.rank())];
  }

  void make_links() {
    const auto parameters = model_->parameters();
    std::int64_t all = 0;
    for (const Parameter* p : parameters) all += p->value.numel();
    flat_ = empty({all}, dtype(), device());
    std::vector<async_sgd::Link> links;
    std::int64_t start = 0;
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      std::int64_t count = 0;
      for (const std::size_t place : shards_[k]) count += parameters[place]->value.numel();
      buffers_.push_back(flat_.narrow(start, count));
      links.push_back({groups_[k].get(), buffers_[k], static_cast<int>(k)});
      start += count;
    }
    const bool by_servers = options_.staleness == 0 && clip_norm_ > 0;
    links_ = std::make_unique<async_sgd::ServerLinks>(
        text("worker ", group_.rank()), std::move(links),
        by_servers ? Clip::by_servers : Clip::not_here, host_);
  }

  // Not before restore(): until then the server's parameters may be others.
  void begin() {
    if (server_ && !server_->serves()) {
      server_->begin(options_.staleness, clip_norm_, host_);
    }
  }

  // Forward and backward of all batches; the loss over all of their labels.
  double compute(std::span<const data::Batch> batches, const nn::Occasion& occasion) {
    double labels = 0;
    for (const data::Batch& batch : batches) labels += static_cast<double>(batch.labels.numel());
    nn::Occasion of_batch = occasion;
    double sum = 0;
    optimizer_->zero_grad();
    for (const data::Batch& batch : batches) {
      model_->prepare(of_batch);
      enter(Phase::forward);
      Tape tape(GradMode::record);
      const Value logits = model_->forward(tape, tape.constant(batch.inputs));
      Value loss = autograd::cross_entropy(tape, logits, batch.labels);
      const double share = static_cast<double>(batch.labels.numel()) / labels;
      if (share != 1) loss = autograd::scale(tape, loss, share);
      enter(Phase::backward);
      tape.backward(loss);
      sum += numbers() ? number_of(loss.tensor) : 0;
      of_batch.first_sample += batch.inputs.size(0) * of_batch.sample_stride;
    }
    return sum;
  }

  // Each parameter with its part of a buffer: f(parameter, part).
  template <typename Body>
  void for_parts(const Body& body) {
    const auto parameters = model_->parameters();
    for (std::size_t k = 0; k < shards_.size(); ++k) {
      std::int64_t start = 0;
      for (const std::size_t place : shards_[k]) {
        Parameter& parameter = *parameters[place];
        body(parameter, buffers_[k].narrow(start, parameter.value.numel()));
        start += parameter.value.numel();
      }
    }
  }
  void put_gradients() {
    for_parts([](const Parameter& parameter, const Tensor& part) {
      if (!parameter.grad.defined()) return part.fill_(0);
      part.copy_(parameter.grad.view({-1}));
    });
    optimizer_->zero_grad();
  }
  void take_parameters() {
    for_parts([](const Parameter& parameter, const Tensor& part) {
      parameter.value.view({-1}).copy_(part);
    });
  }

  // With S = 0 the last push brought what is there; and nothing comes any more when all is settled.
  void refresh() {
    if (options_.staleness == 0 || settled_) return;
    begin();
    links_->pull();
    take_parameters();
  }

  // Tensors for the servers' state: an update that moves nothing makes them.
  void make_state() {
    if (!optimizer_->state().empty()) return;
    for (Parameter* p : model_->parameters()) {
      p->grad = zeros(p->value.shape(), dtype(), device(), MemoryKind::gradients);
    }
    optimizer_->set_learning_rate(0);
    optimizer_->step();
    optimizer_->zero_grad();
  }

  std::int64_t bytes_sent() const {
    return links_->bytes_sent() + (server_ ? server_->bytes_sent() : 0);
  }

  CpuDevice host_;  // outlives the groups
  std::unique_ptr<comm::ProcessGroup> alone_;
  AsyncOptions options_;
  Shards shards_;
  std::vector<std::unique_ptr<comm::ProcessGroup>> groups_;  // to the servers
  Tensor flat_;                  // a gradient to push, then parameters: all servers'
  std::vector<Tensor> buffers_;  // its parts, by server
  std::unique_ptr<async_sgd::ServerLinks> links_;
  bool pulled_ = false, settled_ = false, ended_ = false;
  Asynchrony asynchrony_;
  std::unique_ptr<RankServer> server_;  // its strands use what is above
};

}  // namespace

void check(const AsyncOptions& options, int ranks) {
  if (options.servers >= 0 && options.servers <= ranks) return;
  throw UsageError(text("--servers ", options.servers, " on ", ranks,
                        ranks == 1 ? " rank" : " ranks", ": a rank has one server at most; pass ",
                        ranks == 1 ? "1" : text("1 to ", ranks)));
}

int servers_of(const AsyncOptions& options, int ranks) {
  return options.servers == 0 ? ranks : options.servers;
}

std::unique_ptr<Strategy> make_async(comm::ProcessGroup& group, Device& device,
                                     const Recipe& recipe, double clip_norm,
                                     const AsyncOptions& options) {
  LOCKSTEP_CHECK(options.strands != nullptr,
                 "make_async: a server needs strands; pass those of the rank");
  check(options, group.size());
  return std::make_unique<Async>(group, make_replica(recipe, device), recipe.optimizer, clip_norm,
                                 options);
}

}  // namespace lockstep::train
