// What a folder may hold under the name of a checkpoint's index: it is read, or refused in a
// sentence. What is read covers every tensor once, and says the same when it is written again. A
// share, whose boxes leave holes, is joined with itself to nothing.
#include "engine/checkpoint/index.hpp"

#include <cstdint>
#include <string>

#include "tests/fuzz/expect.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::checkpoint;
  using lockstep::test::expect;
  const std::string json(reinterpret_cast<const char*>(data), size);
  try {
    const Index index = parse_index(json, "index.json", Covers::all);
    for (const IndexedTensor& tensor : index.tensors) {
      std::int64_t held = 0;
      for (const SavedBox& saved : tensor.boxes) {
        const auto bytes = static_cast<std::uint64_t>(numel_of(saved.box)) * bytes_of(tensor.dtype);
        const std::uint64_t of_file = index.files.at(saved.file).bytes;
        expect(bytes > 0 && bytes <= of_file && saved.offset <= of_file - bytes);
        expect(saved.checksums.size() == (bytes + block_bytes - 1) / block_bytes);
        held += numel_of(saved.box);
      }
      expect(held == numel_of(tensor.shape));
    }
    expect(parse_index(index_text(index), "again", Covers::all) == index);
  } catch (const CheckpointError&) {  // a sentence
  }
  try {
    const Index share = parse_index(json, "index.json", Covers::share);
    bool is_empty = true;
    for (const IndexedTensor& tensor : share.tensors) is_empty = is_empty && tensor.boxes.empty();
    joined({share, share}, "twice");
    expect(is_empty);
  } catch (const CheckpointError&) {
  }
  return 0;
}
