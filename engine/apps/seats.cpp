#include "engine/apps/seats.hpp"

#include <poll.h>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/launch/error_file.hpp"

namespace lockstep::apps {
namespace {

constexpr const char* trained_key = "trained";

// The options that make one replica of several ranks: "--tp 2 and --pp 2".
std::string axes_typed(const Arguments& arguments) {
  std::string typed;
  for (const train::Way& way : train::declared_ways()) {
    if (!way.axis || !arguments.given(way.option)) continue;
    typed += text(typed.empty() ? "" : " and ", "--", way.option, " ", arguments.get(way.option));
  }
  return typed;
}

// "rank 3 stands by", "ranks 3 to 5 stand by"
std::string standing_by(int first, int ranks) {
  return first + 1 == ranks ? text("rank ", first, " stands by")
                            : text("ranks ", first, " to ", ranks - 1, " stand by");
}

}  // namespace

Seats seats_of(const Arguments& arguments, int ranks) {
  const mesh::AxisSizes axes = train::axes_of(arguments, train::declared_ways(), ranks);
  const int replica = axes.tp * axes.cp * axes.ep * axes.pp;
  if (ranks < replica) {
    throw launch::TooFewRanks(
        text("a replica takes ", counted(replica, "rank"), " (", axes_typed(arguments),
             "), and there ", ranks == 1 ? "is 1" : text("are ", ranks), "; start more ranks"),
        replica);
  }
  if (!arguments.given("global-batch")) return {ranks, arguments, ""};
  const std::int64_t samples = arguments.integer("global-batch", 1);
  const std::int64_t batch = train::batch_size_of(arguments);
  for (int replicas = ranks / replica; replicas > 0; --replicas) {
    const std::int64_t shares = static_cast<std::int64_t>(replicas) * axes.ep;
    if (batch > samples / shares || samples % (shares * batch) != 0) continue;
    const std::int64_t batches = samples / (shares * batch);
    const int trainers = replicas * replica;
    std::string told;
    if (trainers < ranks) {
      told = text("--global-batch ", samples, ": ", counted(trainers, "rank"),
                  trainers == 1 ? " trains, " : " train, ",
                  batches == 1 ? "a batch" : text(batches, " batches"), " of ", batch,
                  " in a step; ", standing_by(trainers, ranks), "\n");
    }
    return {trainers, arguments.with("accumulate", text(batches)), std::move(told)};
  }
  const std::int64_t least = batch * axes.ep;
  throw UsageError(
      text("--global-batch ", samples, " is no multiple of the ", least, " samples of ",
           axes.ep == 1 ? "a batch" : text("a batch on each of ", axes.ep, " ranks"),
           ", so no number of ranks can share it out; pass --global-batch ",
           std::max<std::int64_t>(samples / least, 1) * least, ", or another --batch-size"));
}

int stand_by(const launch::World& world, launch::StopSignals* told) {
  constexpr int look_again_ms = 100;
  world.stand_by();
  while (!world.store->check(trained_key)) {
    pollfd entry{told != nullptr ? told->fd() : -1, POLLIN, 0};
    poll(&entry, 1, look_again_ms);
    if (told != nullptr && told->told() != 0) return told->told();
  }
  return 0;
}

void tell_trained(const launch::World& world) {
  if (world.environment.rank == 0) world.store->set(trained_key, "");
}

}  // namespace lockstep::apps
