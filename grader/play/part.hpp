// The function that an adapter defines: it unpacks one case, calls the student's part, and packs
// the results. A player is linked from player_main.cpp, one adapter, and the student's object. It
// is untrusted: it holds no expected answers, and what it reports of memory, copies or times is
// advice, which can lower a verdict. Points are given for what the judge has measured (decision
// 0055).
#pragma once

#include "engine/base/fields.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/sim/hosts/player.hpp"
#include "grader/play/case_world.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played);

// `lost`: a rank dies during the case, so that the others have to say how their calls ended.
enum class Peer : std::uint8_t { stays, lost };

// The group a case is about: the world, or one split off it.
struct GroupChoice {
  int color = 0;  // ranks of one color form the group; ProcessGroup::no_color sits out
  int key = 0;    // their order
  std::uint8_t split = 0;
};
template <typename Archive>
void fields(Archive& archive, GroupChoice& choice) {
  archive(choice.split, choice.color, choice.key);
}

// nullptr for a rank that sits out.
inline std::unique_ptr<comm::ProcessGroup> make_group(CaseWorld& world, sim::PlayerCase& played,
                                                      const GroupChoice& choice,
                                                      std::unique_ptr<comm::ProcessGroup>& whole) {
  whole = world.join(played);
  if (!choice.split) return std::move(whole);
  return whole->split(choice.color, choice.key);
}

}  // namespace lockstep::grader
