// A binomial tree of messages: in each round, who has the tensor passes it on to one who has not.
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::replicas {

void broadcast_parameters(comm::ProcessGroup& group, nn::Module& model, int source) {
  const int size = group.size();
  const int place = (group.rank() - source + size) % size;
  const auto rank_at = [&](int p) { return (p + source) % size; };
  const auto pass_on = [&](const Tensor& value) {
    for (int have = 1; have < size; have *= 2) {
      if (place < have && place + have < size) group.send(value, rank_at(place + have));
      if (place >= have && place < 2 * have) group.recv(value, rank_at(place - have));
    }
  };
  for (const Parameter* parameter : model.parameters()) pass_on(parameter->value);
  for (const nn::Buffer* buffer : model.buffers()) pass_on(buffer->value);
}

}  // namespace lockstep::replicas
