// Several writers: what each has to write, who may read what of it, and what an index may not say.
#include "engine/checkpoint/index.hpp"

#include <algorithm>

#include "engine/checkpoint/memory_storage.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using checkpoint::CheckpointError;
using checkpoint::Contents;
using checkpoint::Covers;
using checkpoint::MemoryStorage;
using checkpoint::parse_index;
using checkpoint::Piece;
using checkpoint::PieceKind;
using checkpoint::SavedRun;
using lockstep::test::contains;

namespace {

Tensor counted(const Shape& shape, Device& device) {
  std::vector<double> values(static_cast<std::size_t>(numel_of(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return from_values(values, shape, DType::float32, device);
}

// A matrix that ranks have in flat ranges, its state in columns, and a scalar on the last rank.
Contents contents_of(int rank, int ranks, const Shape& shape, Device& device) {
  const Tensor whole = counted(shape, device);
  const std::int64_t count = whole.numel(), columns = shape.back();
  const Boxes flat = range_of(whole_of(shape), count * rank / ranks, count * (rank + 1) / ranks);
  Box some = whole_of(shape).front();
  some.begin.back() = columns * rank / ranks;
  some.end.back() = columns * (rank + 1) / ranks;
  Contents contents{{{PieceKind::parameter, "w", shape, flat, cut(whole, flat)},
                     {PieceKind::optimizer_state, "w.exp_avg", shape, {some}, cut(whole, {some})}},
                    "adam"};
  if (rank == ranks - 1) {
    contents.pieces.push_back({PieceKind::optimizer_state,
                               "w.step",
                               {},
                               whole_of({}),
                               full({}, 7, DType::int64, device)});
  }
  return contents;
}

void save(MemoryStorage& storage, int ranks, const Shape& shape, std::int64_t step = 5) {
  CpuDevice device;
  const auto draft = checkpoint::begin_save(storage, step);
  std::vector<std::string> shares;
  for (int rank = 0; rank < ranks; ++rank) {
    shares.push_back(checkpoint::write_share(storage, draft, {rank, ranks},
                                             contents_of(rank, ranks, shape, device), {}));
  }
  checkpoint::commit_save(storage, draft, shares, {.step = step}, {});
}

std::string index_in(const MemoryStorage& storage) {
  return checkpoint::read_text(storage, "step_000005/index.json", 1 << 20);
}

// With the first `from` replaced.
std::string with(std::string json, const std::string& from, const std::string& to) {
  const std::size_t at = json.find(from);
  REQUIRE(at != std::string::npos);
  return json.replace(at, from.size(), to);
}

void flip(MemoryStorage& storage, const std::string& file, std::uint64_t offset) {
  std::byte byte{};
  storage.read(file, offset, {&byte, 1});
  byte ^= std::byte{16};
  storage.write(file, offset, {&byte, 1});
}

}  // namespace

TEST_CASE("index: any writers' boxes are read as any others, and the state comes back") {
  CpuDevice device;
  for (const int ranks : {1, 2, 3, 4, 8}) {
    CAPTURE(ranks);
    MemoryStorage storage;
    const Shape shape{7, 9};
    save(storage, ranks, shape);
    const SavedRun saved(storage, "step_000005");
    CHECK(saved.state() == checkpoint::TrainState{.step = 5});
    const Tensor whole = counted(shape, device);
    for (const auto* tensors : {&saved.weights(), &saved.optimizer()}) {
      const auto& entry = *tensors->find(tensors == &saved.weights() ? "w" : "w.exp_avg");
      const Boxes boxes{{{1, 2}, {4, 9}}, {{6, 0}, {7, 1}}};
      const Tensor part = empty({22}, DType::float32, device);
      tensors->load_boxes(entry, boxes, part);
      const Tensor expected = cut(whole, boxes);
      CHECK(std::ranges::equal(part.raw_bytes(), expected.raw_bytes()));
      CHECK(std::ranges::equal(tensors->load(entry, device).raw_bytes(), whole.raw_bytes()));
    }
    CHECK(saved.optimizer().load(*saved.optimizer().find("w.step"), device).item() == 7);
    CHECK(saved.weights().find("w.exp_avg") == nullptr);
  }
}

TEST_CASE("index: a reader takes whole blocks of what it asks for, verified, and no others") {
  CpuDevice device;
  MemoryStorage storage;
  const Shape shape{64, 4096};  // 1 MiB: 16 blocks, of four rows each
  save(storage, 1, shape);
  const SavedRun saved(storage, "step_000005");
  const auto& entry = *saved.weights().find("w");
  const auto read = [&](const Boxes& boxes) {
    const std::int64_t before = storage.bytes_read();
    saved.weights().load_boxes(entry, boxes, empty({numel_of(boxes)}, DType::float32, device));
    return storage.bytes_read() - before;
  };
  constexpr std::int64_t block = 1 << 16;
  CHECK(read(whole_of(shape)) == 16 * block);
  CHECK(read({{{4, 0}, {12, 4096}}}) == 2 * block);
  CHECK(read({{{5, 0}, {6, 10}}}) == block);
  CHECK(read({{{3, 0}, {5, 4096}}}) == 2 * block);
  CHECK(read({{{0, 0}, {64, 1}}}) == 16 * block);  // a column is in every row
  // One byte that has changed is told where it matters, and not where it is not read.
  const auto names = storage.list("step_000005");
  flip(storage, "step_000005/model.safetensors", names[2].bytes - 5 * block - 1);
  CHECK_NOTHROW(read({{{0, 0}, {40, 4096}}}));
  CHECK_THROWS_WITH(read({{{40, 0}, {41, 1}}}),
                    contains("step_000005/model.safetensors: bytes ") &&
                        contains("of tensor \"w\" [0, 0]-[64, 4096], are not those that were"));
}

TEST_CASE("index: each byte of every box is verified") {
  const Shape shape{3, 5};
  MemoryStorage storage;
  save(storage, 2, shape);
  CpuDevice device;
  for (const auto& one : storage.list("step_000005")) {
    if (one.name == "index.json") continue;
    const std::string file = "step_000005/" + one.name;
    std::vector<std::byte> length(8);
    storage.read(file, 0, length);
    std::uint64_t data = 8;
    for (std::size_t i = 0; i < 8; ++i) {
      data += std::to_integer<std::uint64_t>(length[i]) << (8 * i);
    }
    for (std::uint64_t at = data; at < one.bytes; ++at) {
      flip(storage, file, at);
      const SavedRun saved(storage, "step_000005");
      const auto load_all = [&] {
        for (const auto* tensors : {&saved.weights(), &saved.optimizer()}) {
          for (const auto& entry : tensors->tensors()) tensors->load(entry, device);
        }
      };
      CHECK_THROWS_WITH(load_all(), contains(one.name) && contains("not those that were saved"));
      flip(storage, file, at);
    }
  }
}

TEST_CASE(
    "index: files that are missing or cut off are named, with a tensor, and others are ignored") {
  MemoryStorage storage;
  save(storage, 3, {6, 4});
  storage.write("step_000005/model-rank7.safetensors", 0, std::vector<std::byte>(9));
  CHECK_NOTHROW(SavedRun(storage, "step_000005"));  // of a larger world
  const std::string file = "step_000005/optimizer-rank1.safetensors";
  std::vector<std::byte> bytes(100);
  storage.read(file, 0, bytes);
  storage.remove(file);
  CHECK_THROWS_WITH(
      SavedRun(storage, "step_000005"),
      contains("optimizer-rank1.safetensors is missing; tensor \"w.exp_avg\" [0, 1]-"));
  storage.write(file, 0, bytes);
  CHECK_THROWS_WITH(SavedRun(storage, "step_000005"),
                    contains("optimizer-rank1.safetensors has 100 bytes, and had ") &&
                        contains("is it cut off?; tensor \"w.exp_avg\""));
  storage.remove("step_000005/index.json");
  CHECK_THROWS_WITH(SavedRun(storage, "step_000005"),
                    contains("step_000005 has no index.json, so it is no checkpoint"));
}

TEST_CASE("index: shares that overlap, leave a hole, or lie in another storage commit nothing") {
  CpuDevice device;
  const auto commit = [&](const std::vector<std::pair<int, int>>& writers, MemoryStorage& storage) {
    MemoryStorage elsewhere;
    const auto draft = checkpoint::begin_save(storage, 5);
    elsewhere.make(draft.folder);
    std::vector<std::string> shares;
    for (const auto& [rank, wrote] : writers) {
      shares.push_back(
          checkpoint::write_share(wrote < 0 ? elsewhere : storage, draft, {rank, 3},
                                  contents_of(wrote < 0 ? rank : wrote, 3, {6, 4}, device), {}));
    }
    checkpoint::commit_save(storage, draft, shares, {.step = 5}, {});
  };
  const auto refused = [&](const std::vector<std::pair<int, int>>& writers,
                           const std::string& why) {
    MemoryStorage storage;
    CHECK_THROWS_WITH(commit(writers, storage), contains(why));
    CHECK(checkpoint::checkpoints_in(storage).empty());
  };
  refused({}, "no element was written by anybody: the list of shares is empty");
  refused({{0, 0}, {1, 1}, {2, 1}},
          "tensor \"w\": the boxes [2, 0]-[4, 4] and [2, 0]-[4, 4] overlap");
  refused({{0, 0}, {2, 2}}, "tensor \"w\": no box has place 8 of 24; a rank's share is missing");
  refused(
      {{0, 0}, {1, -1}, {2, 2}},
      "model-rank1.safetensors is missing; tensor \"w\" [2, 0]-[4, 4] is in it; ranks that save");
  MemoryStorage storage;
  CHECK_NOTHROW(commit({{0, 0}, {1, 1}, {2, 2}}, storage));
}

TEST_CASE("index: what cannot be removed behind a commit fails the save, and leaves the commit") {
  struct Refusing final : checkpoint::Storage {
    MemoryStorage memory;
    bool refuses = false;
    std::string told(const std::string& name) const override { return memory.told(name); }
    void make(const std::string& folder) override { memory.make(folder); }
    void write(const std::string& file, std::uint64_t at, std::span<const std::byte> in) override {
      memory.write(file, at, in);
    }
    void sync(const std::string& name) override { memory.sync(name); }
    void rename(const std::string& file, const std::string& to) override {
      memory.rename(file, to);
    }
    std::vector<checkpoint::Stored> list(const std::string& folder) const override {
      return memory.list(folder);
    }
    void read(const std::string& file, std::uint64_t at, std::span<std::byte> into) const override {
      memory.read(file, at, into);
    }
    void remove(const std::string& name) override {
      if (refuses && name.starts_with("step_000003/")) throw CheckpointError(name + " is kept");
      memory.remove(name);
    }
  };
  CpuDevice device;
  Refusing storage;
  const Contents contents = contents_of(0, 1, {4, 2}, device);
  for (const std::int64_t step : {3, 5}) checkpoint::save(storage, contents, {.step = step});
  storage.refuses = true;
  CHECK_THROWS_WITH(checkpoint::save(storage, contents, {.step = 5, .taken = 9}, {.keep_last = 1}),
                    contains("is kept"));
  const SavedRun saved(storage, "step_000005");
  CHECK(saved.state().taken == 9);
  CHECK_NOTHROW(saved.weights().load(*saved.weights().find("w"), device));
}

TEST_CASE("index: a text that no save writes is refused with what was expected") {
  MemoryStorage storage;
  save(storage, 2, {2, 3});
  const std::string good = index_in(storage);
  CHECK(checkpoint::index_text(parse_index(good, "index.json", Covers::all)) == good);
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    CAPTURE(from, to);
    const std::string json = with(good, from, to);
    CHECK_THROWS_AS(parse_index(json, "index.json", Covers::all), CheckpointError);
    CHECK_THROWS_WITH(parse_index(json, "index.json", Covers::all),
                      contains(why) && contains("index.json"));
  };
  refused("checkpoint 1", "checkpoint x", "expected the format \"lockstep checkpoint 1\"");
  refused("checkpoint 1", "checkpoint 20", "a newer version of Lockstep wrote it");
  refused("65536", "4096", "expected 65536 block_bytes");
  refused("\"step\":5", "\"step\":-5", "expected step as a whole number");
  refused("\"step\":5", "\"step\":5,\"step\":6", "\"step\" is there twice");
  refused("model-rank0.safetensors", "../secret", "expected a file of the checkpoint's folder");
  refused("model-rank0.safetensors", "optimizer-rank1.safetensors", "expected each file once");
  refused("\"parameter\"", "\"gradient\"", "expected kind as parameter, buffer or");
  refused("\"F32\"", "\"F31\"", "expected a dtype that the engine has");
  refused("[2,3]", "[2,3,1,1,1,1,1,1,1]", "expected shape of at most 8");
  refused("[2,3]", "[4294967296,4294967296]", "more bytes than 63 bits can count");
  refused("\"shape\":[2,3]", "\"shape\":[2,2]", "tensor \"w\": expected a box in [2, 2]");
  refused("\"shape\":[2,3]", "\"shape\":[3,3]", "tensor \"w\": no box has place 6 of 9");
  refused("\"begin\":[0,0]", "\"begin\":[1,0]", "expected a box in [2, 3]");
  refused("\"begin\":[1,0]", "\"begin\":[0,0]",
          "tensor \"w\": box [0, 0]-[2, 3] has 24 bytes from");
  refused("\"file\":0", "\"file\":9", "expected one of 4 files, counted from 0");
  refused("\"offset\":", "\"offset\":9", "has only ");
  refused("\"checksums\":\"", "\"checksums\":\"0", "expected 1 checksums of 16 hexadecimal digits");
  refused("\"optimizer\":", "\"more\":1,\"optimizer\":", "expected no more than 7 fields");
  refused("\"w.exp_avg\"", "\"w.step\"", "tensor \"w.step\" is there twice");
  refused("{\"format\"", "{\"format\":[[[[[[[1]]]]]]],\"format\"", "no more than 7 levels");
  CHECK_THROWS_WITH(parse_index("", "index.json", Covers::all), contains("no JSON"));
}
