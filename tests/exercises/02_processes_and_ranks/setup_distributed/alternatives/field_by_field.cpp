// Each variable is read where it is needed, so a bad one may be found when the store is open; and
// the backend is agreed on with compare_set: it is nccl until somebody cannot.
#include <algorithm>
#include <charconv>

#include "engine/base/error.hpp"
#include "engine/comm/store_rendezvous.hpp"
#include "engine/launch/setup_distributed.hpp"

namespace lockstep::launch {

namespace {

class Reader {
 public:
  explicit Reader(const WorkerEnv& variables) : variables_(variables) {}

  bool has(const std::string& name) const { return variables_.count(name) > 0; }
  std::string word(const std::string& name) const {
    if (!has(name) || variables_.at(name).empty()) throw UsageError("set " + name);
    return variables_.at(name);
  }
  int count(const std::string& name) const {
    const std::string digits = word(name);
    const bool plain =
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!plain || digits.size() > 9) refuse(name);
    return std::stoi(digits);
  }
  [[noreturn]] void refuse(const std::string& name) const {
    throw UsageError(name + " cannot be '" + variables_.at(name) + "'");
  }

 private:
  const WorkerEnv& variables_;
};

comm::Endpoint address_of_store(const Reader& read) {
  if (read.has("LOCKSTEP_STORE")) {
    const auto at = comm::endpoint_of(read.word("LOCKSTEP_STORE"));
    if (!at) read.refuse("LOCKSTEP_STORE");
    return *at;
  }
  const comm::Endpoint at{read.word("MASTER_ADDR"), read.count("MASTER_PORT")};
  if (at.port < 1 || at.port > 65535) read.refuse("MASTER_PORT");
  return at;
}

}  // namespace

Session setup_distributed(const WorkerEnv& environment, Machine& machine, double timeout_s) {
  const Reader read(environment);
  const double end_s = machine.now_s() + timeout_s;
  const comm::Endpoint at = address_of_store(read);
  Session mine;
  mine.rank = read.count("RANK");
  if (read.has("LOCKSTEP_STORE")) {
    read.word("MASTER_ADDR");
    if (read.count("MASTER_PORT") > 65535) read.refuse("MASTER_PORT");
  } else if (mine.rank == 0) {
    mine.hosted = machine.host_store(at);
  }
  mine.size = read.count("WORLD_SIZE");
  if (mine.size < 1) read.refuse("WORLD_SIZE");
  if (mine.rank >= mine.size) read.refuse("RANK");
  mine.device = read.count("LOCAL_RANK");
  const int start =
      read.has("TORCHELASTIC_RESTART_COUNT") ? read.count("TORCHELASTIC_RESTART_COUNT") : 0;

  try {
    mine.store = machine.connect_store(at, end_s - machine.now_s());
  } catch (const CommError&) {
    if (read.has("LOCKSTEP_STORE")) throw;
    throw comm::RanksMissing({0}, mine.size, timeout_s);
  }

  const auto part = comm::with_prefix(*mine.store, text("start_", start));
  part->compare_set("backend", "", "nccl");
  if (machine.gpus() <= mine.device) part->compare_set("backend", "nccl", "gloo");
  std::vector<std::string> here;
  for (int r = 0; r < mine.size; ++r) here.push_back(text("here_", r));
  part->set(here[static_cast<std::size_t>(mine.rank)], "");
  try {
    part->wait(here, std::max(0.0, end_s - machine.now_s()));
  } catch (const CommError&) {
    std::vector<int> silent;
    for (int r = 0; r < mine.size; ++r) {
      if (!part->check(here[static_cast<std::size_t>(r)])) silent.push_back(r);
    }
    throw comm::RanksMissing(silent, mine.size, timeout_s);
  }
  mine.backend = part->get("backend") == "nccl" ? Backend::nccl : Backend::gloo;
  mine.group = machine.make_group(*mine.store, {mine.backend, mine.rank, mine.size, mine.device,
                                                std::max(0.0, end_s - machine.now_s())});
  if (mine.size > 1) mine.group->barrier();
  return mine;
}

}  // namespace lockstep::launch
