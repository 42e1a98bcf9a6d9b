// A real world of GPUs: the ranks are processes as in shared_memory_world.cpp, each with a GPU of
// its own, and tensors travel by NCCL. Compiled twice: LOCKSTEP_GPUS_ARE_PAPER says whether the
// GPUs and NCCL are paper. A part that does on a GPU what CUDA forbids has failed, whatever its
// values.
#include <utility>

#include "engine/comm/nccl.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/file_store.hpp"
#include "engine/comm/worlds/shm/shm_group.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "grader/play/case_world.hpp"
#include "grader/play/meeting_place.hpp"

namespace lockstep::grader {
namespace {

gpu::GpuOptions gpu_of(const sim::PlayerCase& played) {
  gpu::GpuOptions options;
  options.device = played.rank;
  if (LOCKSTEP_GPUS_ARE_PAPER == 0) return options;
  options.hardware = gpu::Hardware::paper;
  options.paper = {text("devices=", played.ranks)};
  return options;
}

class Gpus final : public CaseWorld {
 public:
  explicit Gpus(const sim::PlayerCase& played) : device_(gpu::open_gpu(gpu_of(played))) {}

  Device& device() override { return *device_; }
  std::unique_ptr<comm::ProcessGroup> join(sim::PlayerCase& played) override {
    if (played.ranks == 1) return comm::make_solo_group();
    store_ = comm::open_file_store(meeting_place() + "/store");
    auto host = comm::make_shm_group(*store_, played.rank, played.ranks);
    return comm::make_nccl_group(*store_, *device_, std::move(host));
  }
  void require_intact() override {
    device_->settle();
    const std::string found = gpu::paper_findings();
    if (!found.empty()) throw Error(found.substr(0, found.find('\n')));
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<comm::Store> store_;  // pairs of ranks meet in it at their first message
};

}  // namespace

std::unique_ptr<CaseWorld> make_case_world(const sim::PlayerCase& played) {
  return std::make_unique<Gpus>(played);
}

}  // namespace lockstep::grader
