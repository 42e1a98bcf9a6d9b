// Plays training_loop: trains a replica that begins with numbers of its own, on samples that the
// judge serves, and passes on what the loop logs.
#include "grader/parts/05_data_parallel/training_loop/case.hpp"

#include "grader/play/lost_peer.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

Bytes train_in_group(sim::PlayerCase& played, TrainingLoopCase c) {
  PoisonDevice device;
  const ServedDataset dataset(played.port, c.dataset, c.dtype);
  std::unique_ptr<comm::ProcessGroup> world;
  const auto group = make_group(played, c.group, world);
  ByteWriter out;
  if (!group) return out.take();

  OccasionalModel model(c.dataset, c.dtype, device, c.model_seed);
  const auto optimizer = make_optimizer(model, c.optimizer);
  c.options.log = [&](const train::LoggedStep& line) {
    const Bytes argument = ByteWriter().put(line.step).put(line.epoch).put(line.loss).take();
    sim::Request request;
    request.op = sim::Op::service;
    request.name = log_service;
    request.data.bytes = argument;
    if (const auto reply = played.port.call(request); reply.status != sim::Status::ok) {
      throw Error(reply.error);
    }
  };
  train::distributed_train(*group, model, *optimizer, dataset, c.options);
  const std::vector<double> numbers = model.numbers();
  out.put_list(std::span<const double>(numbers));
  return out.take();
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const TrainingLoopCase c = decode_training_loop_case(played.input);
  if (!c.peer_dies) return train_in_group(played, c);
  return play_with_a_lost_peer(played,
                               [&](sim::PlayerCase& watched) { train_in_group(watched, c); });
}

}  // namespace lockstep::grader
