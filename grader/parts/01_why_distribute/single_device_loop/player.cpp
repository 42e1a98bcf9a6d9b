// Plays single_device_loop: trains a model on batches that the judge serves.
#include "engine/train/single_device_loop.hpp"

#include "grader/parts/01_why_distribute/single_device_loop/case.hpp"
#include "grader/play/poison_device.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {
namespace {

class ServedLoader final : public data::Loader {
 public:
  ServedLoader(sim::Port& port, std::int64_t width, DType dtype, Device& device)
      : port_(port), width_(width), dtype_(dtype), device_(device) {}

  void start(int epoch) override { call(ByteWriter().put(LoaderCall::start).put(epoch).take()); }

  std::optional<data::Batch> next() override {
    const sim::Reply reply = call(ByteWriter().put(LoaderCall::next).take());
    ByteReader in(reply.data.bytes);
    const auto inputs = in.get_list<double>();
    const auto labels = in.get_list<std::int64_t>();
    if (labels.empty()) return std::nullopt;
    return make_batch(inputs, labels, width_, 0, static_cast<std::int64_t>(labels.size()), dtype_,
                      device_);
  }

 private:
  sim::Reply call(const Bytes& argument) {
    sim::Request request;
    request.op = sim::Op::service;
    request.name = loader_service;
    request.data.bytes = argument;
    sim::Reply reply = port_.call(request);
    if (reply.status == sim::Status::failed) throw Error(reply.error);
    return reply;
  }

  sim::Port& port_;
  std::int64_t width_;
  DType dtype_;
  Device& device_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const LoopCase c = decode_loop_case(played.input);
  PoisonDevice device;
  const auto model = nn::make_mlp(c.widths, c.dtype, device, c.model_seed);
  const auto optimizer = make_optimizer(*model, c.optimizer);
  ServedLoader loader(played.port, c.widths.front(), c.dtype, device);
  const std::vector<double> losses =
      train::single_device_loop(*model, *optimizer, loader, c.epochs);

  ByteWriter out;
  out.put_list(std::span<const double>(losses));
  for (const Parameter* parameter : model->parameters()) {
    out.put_bytes(parameter->value.raw_bytes());
  }
  return out.take();
}

}  // namespace lockstep::grader
