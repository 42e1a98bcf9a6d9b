// The watching thread waits in poll() for two descriptors: the connection to rank 0, over which
// nothing ever comes but its end, and an event that this rank raises when it leaves.
#include "engine/launch/world.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/launch/address.hpp"

namespace lockstep::launch {

namespace {

using comm::Descriptor;
using comm::Endpoint;

[[noreturn]] void end_process(const std::string& sentence) {
  std::cerr << sentence + "\n" << std::flush;
  _exit(1);
}

// Calls `lost` once when the connection ends before the watch does.
class Watch {
 public:
  Watch(const Endpoint& rank_zero, double timeout_s, std::function<void()> lost)
      : connection_(
            comm::connect_to(rank_zero.host, rank_zero.port, comm::deadline_after(timeout_s))),
        stop_(eventfd(0, EFD_CLOEXEC)),
        thread_([this, lost = std::move(lost)] {
          pollfd entries[]{{stop_.get(), POLLIN, 0}, {connection_.get(), POLLIN, 0}};
          while (poll(entries, 2, -1) < 0) {
          }
          if (entries[0].revents == 0) lost();
        }) {}
  ~Watch() {
    const std::uint64_t one = 1;
    if (write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Descriptor connection_, stop_;
  std::thread thread_;
};

// The connections that must exist before the world's store does.
struct Connections {
  std::optional<comm::StoreServer> server;  // in rank 0, where it hosts the store
  std::unique_ptr<comm::Store> all;         // every attempt's keys
};

std::string key_of_left(int rank) { return text("left/", rank); }

std::string prefix_of(const Environment& environment) {
  return text("attempt_", environment.restart_count);
}

// Each rank is here once, and all have the same idea of how many they are.
void check_in(const Environment& environment, comm::Store& all) {
  const auto store = comm::with_prefix(all, prefix_of(environment));
  const std::string me = text("process ", getpid(), " on ", name_of_host());
  const std::string size = text(environment.world_size);
  if (const auto theirs = store->compare_set("world_size", "", size); theirs != size) {
    throw UsageError(text("rank ", environment.rank, " (", me, ") has WORLD_SIZE ", size,
                          ", but a rank that joined before it has ", theirs,
                          "; all ranks of a run must have the same"));
  }
  const std::string key = text("here/", environment.rank);
  if (const auto first = store->compare_set(key, "", me); first != me) {
    throw UsageError(text("rank ", environment.rank, " exists twice: as ", first, " and as ", me,
                          "; RANK must differ in every process of a run"));
  }
}

class JoinedWorld final : public World {
 public:
  JoinedWorld(const Environment& joined, const std::string& own,
              std::unique_ptr<Connections> connections, const JoinOptions& options)
      : World(joined, own, comm::with_prefix(*connections->all, prefix_of(joined))),
        connections_(std::move(connections)) {
    if (environment.store_host == StoreHost::launcher || environment.rank == 0) return;
    const auto lost = options.rank_zero_lost ? options.rank_zero_lost : end_process;
    watch_.emplace(environment.store, options.timeout_s, [this, lost] {
      lost(text("rank ", environment.rank, " of ", environment.world_size,
                ": rank 0, which hosts the store at ", text_of(environment.store),
                ", ended before the run was over; look at its output"));
    });
  }

  void leave(double timeout_s) override {
    if (environment.store_host == StoreHost::launcher) return;
    watch_.reset();  // from here on rank 0 may end
    store->set(key_of_left(environment.rank), "");
    if (environment.rank != 0) return;
    std::vector<std::string> others;
    for (int rank = 1; rank < environment.world_size; ++rank) {
      others.push_back(key_of_left(rank));
    }
    store->wait(others, timeout_s);
  }

 private:
  std::unique_ptr<Connections> connections_;
  std::optional<Watch> watch_;
};

std::unique_ptr<Connections> connect(const Environment& environment, double timeout_s) {
  auto connections = std::make_unique<Connections>();
  const Endpoint& at = environment.store;
  if (environment.store_host == StoreHost::rank_zero && environment.rank == 0) {
    try {
      Listener listener = listen_for_nodes(at);
      connections->server.emplace(std::move(listener.socket), listener.host);
    } catch (const Error& error) {
      throw UsageError(text("rank 0 cannot host the store: ", error.what(),
                            "; MASTER_ADDR and MASTER_PORT set its address"));
    }
  }
  connections->all = comm::connect_store(at.host, at.port, timeout_s);
  return connections;
}

}  // namespace

void World::be_spare() const {
  if (!environment.spare_file.empty()) std::ofstream(environment.spare_file).flush();
}

void World::stand_by() const {
  if (!environment.spare_file.empty()) std::ofstream(environment.spare_file) << "stands by\n";
}

std::unique_ptr<World> join_world(const Lookup& lookup, const JoinOptions& options) {
  const Environment environment = read_environment(lookup);
  auto connections = connect(environment, options.timeout_s);
  check_in(environment, *connections->all);
  std::string own = environment.local_addr;
  if (own.empty()) own = address_towards(environment.store);
  return std::make_unique<JoinedWorld>(environment, own, std::move(connections), options);
}

}  // namespace lockstep::launch
