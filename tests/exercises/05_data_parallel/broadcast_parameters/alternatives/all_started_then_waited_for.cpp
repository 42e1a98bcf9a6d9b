// All broadcasts are started first, buffers before parameters, and waited for afterwards.
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::replicas {

void broadcast_parameters(comm::ProcessGroup& group, nn::Module& model, int source) {
  std::vector<comm::Work> started;
  for (const nn::Buffer* buffer : model.buffers()) {
    started.push_back(group.broadcast_async(buffer->value, source));
  }
  for (const Parameter* parameter : model.parameters()) {
    started.push_back(group.broadcast_async(parameter->value, source));
  }
  for (comm::Work& work : started) work.wait();
}

}  // namespace lockstep::replicas
