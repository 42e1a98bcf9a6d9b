#include "grader/parts/02_processes_and_ranks/seed_everything/streams.hpp"

#include "engine/base/text.hpp"

namespace lockstep::grader::seed_everything {

Stream stream_of(const SeedQuestion& q, std::size_t purpose) {
  Stream stream{static_cast<std::int64_t>(q.run_seed), -1, -1, -1, -1};
  if (purpose >= dropout) stream[1] = q.where.data;
  if (purpose == dropout_sharded) stream[2] = q.where.tensor;
  if (purpose == dropout || purpose == dropout_sharded) stream[3] = q.where.pipeline;
  if (purpose == augmentation) stream[4] = q.loader_worker;
  return stream;
}

std::string text_of(const SeedQuestion& q) {
  std::string out = text("run seed ", q.run_seed, ", data rank ", q.where.data);
  if (q.where.tensor != 0) out += text(", tensor rank ", q.where.tensor);
  if (q.where.pipeline != 0) out += text(", pipeline stage ", q.where.pipeline);
  if (q.loader_worker != 0) out += text(", worker ", q.loader_worker);
  return out;
}

Cause cause_of_difference(std::size_t purpose, const SeedAnswer& a, const SeedAnswer& b) {
  const SeedQuestion &p = a.question, &q = b.question;
  const bool same_place = p.where.data == q.where.data && p.where.tensor == q.where.tensor &&
                          p.where.pipeline == q.where.pipeline &&
                          p.loader_worker == q.loader_worker;
  if (same_place) {
    return {"not_repeatable", a.process == b.process
                                  ? "the same question was asked twice; a clock, a counter or a "
                                    "random device makes a run unrepeatable"
                                  : "two processes were asked the same question; a process number, "
                                    "a count of the questions before, a clock or a random device "
                                    "makes a run unrepeatable"};
  }
  if (purpose == model) {
    return {"model_differs",
            "the replicas start with different weights, so the mean of their gradients is no "
            "replica's gradient"};
  }
  if (purpose == sampler) {
    return {"sampler_differs",
            "the ranks take their shares from different orders: some samples are read twice, "
            "others never"};
  }
  if (p.where.tensor != q.where.tensor) {
    return {"tensor_peers_differ",
            purpose == dropout
                ? "tensor ranks hold the same activations in replicated regions; with different "
                  "masks the activations differ afterwards"
                : "tensor ranks work on the same samples and must augment them in the same way"};
  }
  if (p.loader_worker != q.loader_worker) {
    return {"worker_matters", "the worker's number may change only the augmentation"};
  }
  return {"place_matters", "the ranks of one data rank work on the same samples"};
}

Cause cause_of_sharing(std::size_t purpose, const SeedAnswer& a, const SeedAnswer& b) {
  const Stream of_a = stream_of(a.question, purpose), of_b = stream_of(b.question, purpose);
  int different = 0;
  for (std::size_t i = 0; i < of_a.size(); ++i) different += of_a[i] != of_b[i];
  if (different > 1) {
    return {"sum_collides",
            "adding the numbers, or packing them too tightly, gives different inputs one seed: 0 + "
            "1 is 1 + 0; mix the numbers in one after another"};
  }
  if (of_a[0] != of_b[0] &&
      static_cast<std::uint32_t>(of_a[0]) == static_cast<std::uint32_t>(of_b[0])) {
    return {"run_seed_cut",
            "these run seeds differ only above bit 31, so the run seed was cut to 32 bits; all 64 "
            "must be mixed in"};
  }
  if (of_a[0] != of_b[0]) {
    return {"run_seed_ignored", "a different run seed must give a different run"};
  }
  if (of_a[1] != of_b[1]) {
    return {"rank_ignored",
            "data ranks hold different samples but would use the same noise for all"};
  }
  if (of_a[2] != of_b[2]) {
    return {"tensor_ignored",
            "here each tensor rank holds its own part, and all parts would have the same mask"};
  }
  if (of_a[3] != of_b[3]) {
    return {"stage_ignored",
            "pipeline stages hold different layers, which would have the same masks"};
  }
  return {"worker_ignored", "the workers of a rank would augment different samples alike"};
}

}  // namespace lockstep::grader::seed_everything
