// Task: let ranks find each other through a store. Each rank publishes its address, waits until all
// have published theirs, and returns all addresses in the order of ranks. A store may outlive the
// processes that write to it: after a restart it still holds the addresses of dead processes, so
// read only keys of this attempt. When the time is up, name the missing ranks: "timeout" alone does
// not say which of a hundred machines to look at. The contract stands in
// engine/comm/store_rendezvous.hpp.
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::comm {

std::vector<Endpoint> rendezvous(Store& store, int rank, int size, const Endpoint& mine,
                                 int attempt, double timeout_s) {
  // >>> your code
  std::vector<std::string> keys;
  for (int r = 0; r < size; ++r) keys.push_back(text("rendezvous/", attempt, "/", r));
  store.set(keys[static_cast<std::size_t>(rank)], text_of(mine));
  try {
    store.wait(keys, timeout_s);
  } catch (const CommError&) {
    std::vector<int> missing;
    for (int r = 0; r < size; ++r) {
      if (!store.check(keys[static_cast<std::size_t>(r)])) missing.push_back(r);
    }
    if (!missing.empty()) throw RanksMissing(missing, size, timeout_s);
  }
  std::vector<Endpoint> everybody;
  for (const auto& key : keys) everybody.push_back(endpoint_of(store.get(key)).value());
  return everybody;
  // <<< your code
}

}  // namespace lockstep::comm
