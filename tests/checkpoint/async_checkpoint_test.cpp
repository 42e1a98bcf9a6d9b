// Saving beside a training: what is written, what happens to errors, and who waits for whom.
#include "engine/checkpoint/async_checkpoint.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "tests/catch.hpp"
#include "tests/tensor/far_device.hpp"

using namespace lockstep;
using checkpoint::CheckpointError;
using checkpoint::Contents;
using checkpoint::PieceKind;

namespace {

Contents contents_with(const Tensor& value) {
  return {{{PieceKind::parameter, "w", value.shape(), whole_of(value.shape()), value}}, "sgd"};
}

}  // namespace

TEST_CASE("async checkpoint: what is written is the state of the call, whatever happens to it") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  const auto saver = checkpoint::make_async_checkpoint(*strands);
  const Tensor state = full({4}, 1, DType::float64, device);
  for (const double value : {1.0, 2.0, 3.0}) {
    state.fill_(value);
    std::promise<void> changed;
    std::thread::id writer;
    double seen = 0;
    std::string optimizer;
    saver->start(contents_with(state), [&](const Contents& snapshot) {
      changed.get_future().wait();
      writer = std::this_thread::get_id();
      seen = snapshot.pieces.at(0).value.item(3);
      optimizer = snapshot.optimizer;
    });
    state.fill_(-1);
    changed.set_value();
    saver->wait();
    CHECK(seen == value);
    CHECK(optimizer == "sgd");
    CHECK(writer != std::this_thread::get_id());
  }
}

TEST_CASE("async checkpoint: of state on another device, the snapshot lies on the host") {
  test::FarDevice far;
  const auto strands = make_thread_strands();
  const auto saver = checkpoint::make_async_checkpoint(*strands);
  const Tensor state = full({4}, 3, DType::float64, far);
  bool on_host = false;
  double seen = 0;
  saver->start(contents_with(state), [&](const Contents& snapshot) {
    on_host = snapshot.pieces.at(0).value.device().on_host();
    seen = snapshot.pieces.at(0).value.item(2);
  });
  state.fill_(-1);
  saver->wait();
  CHECK(on_host);
  CHECK(seen == 3);
}

TEST_CASE("async checkpoint: one snapshot exists at a time, and none of its bytes stay behind") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  const Tensor state = zeros({1000}, DType::float64, device, MemoryKind::parameters);
  {
    const auto saver = checkpoint::make_async_checkpoint(*strands);
    for (int i = 0; i < 3; ++i) saver->start(contents_with(state), [](const Contents&) {});
  }
  CHECK(device.bytes_peak() == 2 * static_cast<std::int64_t>(state.bytes()));
  CHECK(device.bytes_now() == static_cast<std::int64_t>(state.bytes()));
}

TEST_CASE("async checkpoint: an error comes out of the next call, once, and begins nothing") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  const auto saver = checkpoint::make_async_checkpoint(*strands);
  const Contents contents = contents_with(full({4}, 1, DType::float64, device));
  const auto fail = [](const Contents&) { throw CheckpointError("the disk is full"); };
  int written = 0;
  const auto count = [&](const Contents&) { ++written; };
  saver->start(contents, fail);
  CHECK_THROWS_WITH(saver->start(contents, count), "the disk is full");
  saver->wait();
  CHECK(written == 0);
  saver->start(contents, fail);
  CHECK_THROWS_AS(saver->wait(), CheckpointError);
  saver->wait();
  saver->start(contents, count);
  saver->wait();
  CHECK(written == 1);
}

TEST_CASE("async checkpoint: a save begins when the one before is over") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  const auto saver = checkpoint::make_async_checkpoint(*strands);
  const Contents contents = contents_with(full({4}, 1, DType::float64, device));
  std::atomic<int> asked = 0, in_flight = 0, most = 0;
  constexpr int saves = 5;
  for (int save = 0; save < saves; ++save) {
    ++asked;
    saver->start(contents, [&, save](const Contents&) {
      most = std::max<int>(most, ++in_flight);
      // Until the next save is asked for, and some more.
      while (asked == save + 1 && save + 1 < saves) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      --in_flight;
    });
  }
  saver->wait();
  CHECK(most == 1);
}

TEST_CASE("async checkpoint: one that is dropped waits for its write") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  auto saver = checkpoint::make_async_checkpoint(*strands);
  std::atomic<bool> dropping = false, written = false;
  saver->start(contents_with(full({4}, 1, DType::float64, device)), [&](const Contents&) {
    while (!dropping) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    written = true;
  });
  dropping = true;
  saver.reset();
  CHECK(written);
}
