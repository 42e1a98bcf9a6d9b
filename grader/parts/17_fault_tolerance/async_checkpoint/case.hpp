// The case format of async_checkpoint, shared by adapter and exam: the acts of a training that
// saves while it goes on. What a save writes lies in a folder of its own, a file for each tensor.
#pragma once

#include "engine/checkpoint/async_checkpoint.hpp"
#include "grader/play/part.hpp"
#include "grader/play/saved_state.hpp"
#include "grader/play/served_storage.hpp"

namespace lockstep::grader {

struct AsyncCase {
  LifeCase life{};       // its saves are starts
  bool foreign = false;  // a write that fails throws ForeignDamage
};
template <typename Archive>
void fields(Archive& archive, AsyncCase& c) {
  archive(c.life, c.foreign);
}

// An exception of the caller's, which is no std::exception.
struct ForeignDamage {
  std::string what;
};

inline std::string folder_of_save(std::size_t save) { return text("save", save); }

}  // namespace lockstep::grader
