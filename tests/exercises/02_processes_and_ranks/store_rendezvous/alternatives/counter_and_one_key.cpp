// Each rank counts itself; who is last opens the gate for which the others wait.
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::comm {

std::vector<Endpoint> rendezvous(Store& store, int rank, int size, const Endpoint& mine,
                                 int attempt, double timeout_s) {
  const auto key = [&](const std::string& of) { return text("start ", attempt, ": ", of); };
  store.set(key(text(rank)), text_of(mine));
  const std::string gate[] = {key("gate")};
  if (store.add(key("count"), 1) == size) store.set(gate[0], "open");
  std::vector<int> missing;
  try {
    store.wait(gate, timeout_s);
  } catch (const CommError&) {
    for (int r = 0; r < size; ++r) {
      if (!store.check(key(text(r)))) missing.push_back(r);
    }
    if (!missing.empty()) throw RanksMissing(missing, size, timeout_s);
  }
  std::vector<Endpoint> all;
  for (int r = 0; r < size; ++r) all.push_back(endpoint_of(store.get(key(text(r)))).value());
  return all;
}

}  // namespace lockstep::comm
