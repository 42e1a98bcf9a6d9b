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
  bool renames = false;  // each save has an optimizer of its own
  bool away = false;     // the tensors lie on a device whose memory the host cannot read
};
template <typename Archive>
void fields(Archive& archive, AsyncCase& c) {
  archive(c.life, c.foreign, c.renames, c.away);
}

// An exception of the caller's, which is no std::exception.
struct ForeignDamage {
  std::string what;
};

// The optimizer that is in the contents of a save, in a case or a problem.
std::string optimizer_of(std::size_t save, const auto& in) {
  return in.renames ? text("adamw", save) : "adamw";
}

inline std::string folder_of_save(std::size_t save) { return text("save", save); }

// The file of a piece: its name says all that a snapshot keeps beside the elements.
inline std::string file_of(std::size_t save, const std::string& optimizer,
                           const checkpoint::Piece& piece) {
  std::string name = text(optimizer, ':', static_cast<int>(piece.kind), ':', piece.name, ':',
                          text_of(piece.shape));
  for (const Box& box : piece.boxes) name += text(':', text_of(box));
  std::erase(name, ' ');
  return checkpoint::within(folder_of_save(save), name);
}
// The file of a snapshot without pieces.
inline std::string file_of_nothing(std::size_t save) {
  return checkpoint::within(folder_of_save(save), "nothing");
}
inline constexpr const char* unreadable = ":away";  // ends it if the host cannot read the elements

}  // namespace lockstep::grader
