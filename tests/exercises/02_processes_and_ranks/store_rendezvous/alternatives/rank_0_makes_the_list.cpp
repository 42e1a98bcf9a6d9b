// Rank 0 collects and publishes one list: three calls of the store for everybody else.
#include <sstream>

#include "engine/comm/store_rendezvous.hpp"
#include "engine/comm/stores/tcp_store.hpp"

namespace lockstep::comm {

namespace {

std::vector<int> silent_ranks(Store& store, const std::vector<std::string>& keys) {
  std::vector<int> silent;
  for (std::size_t r = 0; r < keys.size(); ++r) {
    if (!store.check(keys[r])) silent.push_back(static_cast<int>(r));
  }
  return silent;
}

}  // namespace

std::vector<Endpoint> rendezvous(Store& store, int rank, int size, const Endpoint& mine,
                                 int attempt, double timeout_s) {
  const auto own_part = with_prefix(store, text("attempt_", attempt));
  std::vector<std::string> keys;
  for (int r = 0; r < size; ++r) keys.push_back(text("rank_", r));
  const std::vector<std::string> list_key{"list"};
  own_part->set(keys[static_cast<std::size_t>(rank)], text_of(mine));
  try {
    own_part->wait(rank == 0 ? keys : list_key, timeout_s);
  } catch (const CommError&) {
    const auto silent = silent_ranks(*own_part, keys);
    if (!silent.empty()) throw RanksMissing(silent, size, timeout_s);
  }
  if (rank == 0) {
    std::string list;
    for (const auto& key : keys) list += own_part->get(key) + "\n";
    own_part->set("list", list);
  }
  std::istringstream lines(own_part->get("list"));
  std::vector<Endpoint> all;
  for (std::string line; std::getline(lines, line);) all.push_back(endpoint_of(line).value());
  return all;
}

}  // namespace lockstep::comm
