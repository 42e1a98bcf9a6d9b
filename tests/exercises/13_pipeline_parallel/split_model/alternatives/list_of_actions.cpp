// First a list of what this device does, then one loop over it: receives are posted all at once,
// and sends are waited for at the end.
#include <map>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/split_model.hpp"

namespace lockstep::pipeline {
namespace {

struct Deed {
  int layer = 0;
  bool back = false;
  int from = -1;  // -1: from here, or from nowhere
  int to = -1;
};

std::vector<Deed> deeds_of(std::span<const int> map, int me) {
  std::vector<Deed> deeds;
  const int last = static_cast<int>(map.size()) - 1;
  const auto other = [&](int layer) {
    if (layer < 0 || layer > last) return -1;
    const int device = map[static_cast<std::size_t>(layer)];
    return device == me ? -1 : device;
  };
  for (int k = 0; k <= last; ++k) {
    if (other(k) < 0) deeds.push_back({k, false, other(k - 1), other(k + 1)});
  }
  for (int k = last; k >= 0; --k) {
    if (other(k) < 0) deeds.push_back({k, true, other(k + 1), other(k - 1)});
  }
  return deeds;
}

int tag_of(int layer, bool back) { return 2 * layer + (back ? 1 : 0); }

}  // namespace

SplitRun run_split(comm::Peers& devices, std::span<const int> device_of_layer, Layers& mine) {
  LOCKSTEP_CHECK(!device_of_layer.empty(), "no layers");
  for (const int device : device_of_layer) {
    LOCKSTEP_CHECK(device >= 0 && device < devices.size(), "no such device");
  }
  const auto deeds = deeds_of(device_of_layer, devices.rank());
  const int last = static_cast<int>(device_of_layer.size()) - 1;
  struct Coming {
    Tensor room;
    comm::Work work;
  };
  std::map<int, Coming> coming;
  for (const Deed& deed : deeds) {
    if (deed.from < 0) continue;
    const int tag = tag_of(deed.layer, deed.back);
    Tensor room = deed.back ? mine.make_gradient(deed.layer) : mine.make_input(deed.layer);
    comm::Work work = devices.irecv(room, deed.from, tag);
    coming.emplace(tag, Coming{std::move(room), std::move(work)});
  }
  std::map<int, Tensor> made;  // by what it is for
  std::vector<comm::Work> sends;
  SplitRun run;
  for (const Deed& deed : deeds) {
    const int tag = tag_of(deed.layer, deed.back);
    Tensor given;
    if (deed.from >= 0) {
      coming.at(tag).work.wait();
      given = coming.at(tag).room;
    } else if (made.contains(tag)) {
      given = made.at(tag);
    }
    const Tensor out =
        deed.back ? mine.backward(deed.layer, given) : mine.forward(deed.layer, given);
    const int next = tag_of(deed.layer + (deed.back ? -1 : 1), deed.back);
    if (!deed.back && deed.layer == last) {
      run.loss = out;
    } else if (out.defined()) {
      made[next] = out;
      if (deed.to >= 0) sends.push_back(devices.isend(out, deed.to, next));
    }
  }
  for (comm::Work& work : sends) work.wait();
  return run;
}

}  // namespace lockstep::pipeline
