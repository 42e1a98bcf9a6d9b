// What a target knows of every input. It traps, also in a release build, so that libFuzzer and a
// replay of the corpus stop with the input.
#pragma once

namespace lockstep::test {

inline void expect(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace lockstep::test
