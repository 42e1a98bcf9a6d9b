// An impostor is a player that contains no part: it answers every case at once, by a rule of its
// own, and sends no message. No check may hold for it (./lab dev impostors), and no class
// is graded with an exam that does (grader/batch/run/canary.hpp).
//
//   silent     returns nothing
//   echoing    returns what it was given: its input, or the buffers and gradients in it
//   random     returns random bytes, or a random result that has the right form
//
// A lying impostor (lying/) does contain a part, with right values, which spends what it must not,
// and says the best of itself. No check of what it spends may hold for it.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/base/random.hpp"

namespace lockstep::grader {

// Numbers that an impostor draws; other inputs and other salts give others.
class Dice {
 public:
  Dice(std::span<const std::byte> input, std::uint64_t salt) : salt_(salt ^ checksum_of(input)) {}

  std::uint64_t bits() { return random_bits(salt_, drawn_++); }
  // 0 to n - 1; 0 where n is none.
  int below(std::int64_t n) {
    return n < 1 ? 0 : static_cast<int>(bits() % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t salt_;
  std::uint64_t drawn_ = 0;
};

// The result of a case.
Bytes impostors_result(std::span<const std::byte> input, Dice& dice);

// The value that `read` finds in the input if it reads all of it; nothing if the input is another
// case.
template <typename Read>
auto case_in(std::span<const std::byte> input, Read read)
    -> std::optional<decltype(read(std::declval<ByteReader&>()))> {
  try {
    ByteReader in(input);
    auto found = read(in);
    if (in.done()) return found;
  } catch (const std::exception&) {  // of a length that makes no sense
  }
  return std::nullopt;
}

}  // namespace lockstep::grader
