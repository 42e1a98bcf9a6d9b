#include "engine/checkpoint/finite.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/shell_word.hpp"
#include "engine/checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {
namespace {

// The largest magnitude, as bits: without its sign, a number with more bits is larger, infinity is
// above all numbers, and a NaN above infinity.
template <typename Bits>
Bits largest_of(std::span<const std::byte> bytes) {
  const std::span numbers(reinterpret_cast<const Bits*>(bytes.data()), bytes.size() / sizeof(Bits));
  constexpr Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1;
  Bits largest = 0;
  for (const Bits one : numbers) largest = std::max(largest, static_cast<Bits>(one & magnitude));
  return largest;
}

// As bits: infinity, and the least number whose square is infinite.
struct Limits {
  std::uint64_t infinity, square;
};

template <typename Bits>
const char* told_of(std::span<const std::byte> bytes, PieceKind kind, const Limits& limits) {
  const std::uint64_t largest = largest_of<Bits>(bytes);
  if (largest > limits.infinity) return " is nan";
  if (largest == limits.infinity) return " is infinite";
  const bool too_large = kind == PieceKind::parameter && largest >= limits.square;
  return too_large ? " is so large that its square is infinite" : "";
}

std::string told_of(const Tensor& value, PieceKind kind) {
  const Tensor here = to_host(value);
  const auto bytes = here.raw_bytes();
  switch (here.dtype()) {
    case DType::float64:  // 2^512
      return told_of<std::uint64_t>(bytes, kind, {0x7FF0'0000'0000'0000, 0x5FF0'0000'0000'0000});
    case DType::float32:  // 2^64
      return told_of<std::uint32_t>(bytes, kind, {0x7F80'0000, 0x5F80'0000});
    case DType::bfloat16:
      return told_of<std::uint16_t>(bytes, kind, {0x7F80, 0x5F80});
    case DType::float16:  // weights above 2^8 are usual
      return told_of<std::uint16_t>(bytes, kind, {0x7C00, 0x7C00});
    default:
      return "";
  }
}

}  // namespace

std::string first_not_finite(std::span<const Piece> pieces) {
  for (const Piece& piece : pieces) {
    if (!piece.value.device().has_numbers()) continue;
    if (const std::string told = told_of(piece.value, piece.kind); !told.empty())
      return piece.name + told;
  }
  return "";
}

std::string told_of_last(const std::filesystem::path& folder) {
  if (folder.empty()) return "";
  const auto last = latest_in(folder);
  if (!last) return ", and there is no checkpoint from before";
  return text("; ", last->string(), " is from before, and --resume continues from there");
}

std::string told_of_broken(const std::filesystem::path& folder, std::int64_t step,
                           const std::string& found) {
  const std::filesystem::path path = folder / folder_name(step);
  const auto older = whole_before(path);
  return text("--resume: ", path.string(), " has no numbers to go on with: ", found, ". ",
              older ? text("To continue from ", older->string(), " instead, type rm -r ",
                           shell_word(path.string()), " and then the same command again")
                    : text("No older one beside it is whole: to train from the start, leave out "
                           "--resume and pass a different --checkpoint"));
}

}  // namespace lockstep::checkpoint
