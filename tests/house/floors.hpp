// Who may include whom. Inside engine/ the floors of cmake/rooms.cmake decide, and inside a room
// that has inner floors, these; around it:
//   solutions, exercises   engine/ only: a part never sees the judge
//   grader/play, grader/impostors, and a part's player.cpp and case.hpp
//                          engine/ and of the grader only these: student code runs beside them
//   grader/…               engine/, and folders of the grader that are not above their own
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/house/sources.hpp"

namespace lockstep::house {

class Floors {
 public:
  // "base|strand trace|sim": bottom first, rooms of one floor separated by spaces. Inner floors:
  // "sim: wire, core, hosts|comm: ., stores, worlds/shm worlds/tcp".
  explicit Floors(const std::string& list, const std::string& inner = "");

  // The room a file of engine/ stands in: "engine/parallel/ddp/x.hpp" → "parallel/ddp".
  std::optional<std::string> room_of(const std::string& path) const;
  std::optional<int> floor_of(const std::string& room) const;

  // Why a file of `room` may not include another one of it, or nothing.
  std::optional<std::string> inner_rule(const std::string& room, const std::string& path,
                                        const std::string& target) const;

 private:
  using List = std::vector<std::vector<std::string>>;  // by floor
  List rooms_;
  std::map<std::string, List> inside_;  // by room: folders
};

// The path between the quotes of an #include "…" line.
std::optional<std::string> included_by(const std::string& line);

// Every #include of `source` that the rules above forbid.
Complaints forbidden_includes(const Floors& floors, const Source& source);

}  // namespace lockstep::house
