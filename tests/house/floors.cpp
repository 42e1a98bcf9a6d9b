// The floors and the rules of #include.
#include "tests/house/floors.hpp"

#include <algorithm>
#include <sstream>

namespace lockstep::house {
namespace {

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

// The untrusted side of the grader. In a part's folder that is its adapter, and what its cases look
// like, which is said once for both sides.
bool is_played(const std::string& path) {
  if (starts_with(path, "grader/play/") || starts_with(path, "grader/impostors/")) return true;
  return starts_with(path, "grader/parts/") &&
         (path.ends_with("/player.cpp") || path.ends_with("/case.hpp"));
}

// Both sides, bottom first.
const std::vector<std::string> grader_floors{"course",    "play",    "judge", "exam",   "parts",
                                             "impostors", "sandbox", "lab",   "memory", "dev",
                                             "further",   "export",  "batch", "pack",   "tool"};

std::optional<std::size_t> grader_floor_of(const std::string& path) {
  for (std::size_t floor = 0; floor < grader_floors.size(); ++floor) {
    if (starts_with(path, "grader/" + grader_floors[floor] + "/")) return floor;
  }
  return std::nullopt;
}

std::optional<std::string> grader_rule(const Floors& floors, const std::string& path,
                                       const std::string& target) {
  if (starts_with(target, "engine/")) return std::nullopt;
  if (!starts_with(target, "grader/")) {
    return "the grader includes engine/ and grader/, not " + target;
  }
  const auto from = grader_floor_of(path), to = grader_floor_of(target);
  if (!from || !to) return "a folder of the grader has no floor in tests/house/floors.cpp";
  if (*to == *from) return floors.inner_rule("grader/" + grader_floors[*from], path, target);
  if (*to < *from) return std::nullopt;
  return "grader/" + grader_floors[*from] + " may not include " + target + ", which is above it";
}

// Why engine/… may not include `target`, or nothing.
std::optional<std::string> engine_rule(const Floors& floors, const std::string& path,
                                       const std::string& target) {
  if (!starts_with(target, "engine/")) return "engine/ includes only engine/, not " + target;
  const auto from = floors.room_of(path);
  const auto to = floors.room_of(target);
  if (!from) return "its room has no floor in cmake/rooms.cmake";
  if (!to) return target + " is in no room of cmake/rooms.cmake";
  if (*from == *to) return floors.inner_rule(*from, path, target);
  if (*floors.floor_of(*to) < *floors.floor_of(*from)) return std::nullopt;
  return "room " + *from + " (floor " + std::to_string(*floors.floor_of(*from)) +
         ") may not include " + target + " (floor " + std::to_string(*floors.floor_of(*to)) + ")";
}

std::optional<std::string> rule(const Floors& floors, const std::string& path,
                                const std::string& target) {
  if (starts_with(path, "engine/")) return engine_rule(floors, path, target);
  if (starts_with(path, "solutions/") || starts_with(path, "exercises/")) {
    if (!starts_with(target, "engine/")) return "a part includes only engine/, not " + target;
  } else if (starts_with(path, "grader/")) {
    if (is_played(path) && !starts_with(target, "engine/") && !is_played(target)) {
      return "a player runs student code and may not include " + target;
    }
    return grader_rule(floors, path, target);
  }
  return std::nullopt;
}

std::vector<std::vector<std::string>> read_floors(const std::string& list, char between) {
  std::vector<std::vector<std::string>> floors;
  std::istringstream in(list);
  for (std::string floor; std::getline(in, floor, between);) {
    std::istringstream names(floor);
    floors.emplace_back();
    for (std::string name; names >> name;) floors.back().push_back(name);
  }
  return floors;
}

// Of "engine/comm/worlds/shm/arena.hpp" in comm: "worlds/shm"; of a file of the room itself ".".
// The rooms of the grader have its name in front: "grader/exam".
std::string folder_in(const std::string& room, const std::string& path) {
  const std::string home = starts_with(room, "grader/") ? room : "engine/" + room;
  const std::string rest = path.substr(home.size() + 1);
  const auto end = rest.rfind('/');
  return end == std::string::npos ? "." : rest.substr(0, end);
}

}  // namespace

Floors::Floors(const std::string& list, const std::string& inner) : rooms_(read_floors(list, '|')) {
  std::istringstream in(inner);
  for (std::string room; std::getline(in, room, '|');) {
    const auto colon = room.find(':');
    inside_[room.substr(0, colon)] = read_floors(room.substr(colon + 1), ',');
  }
}

std::optional<std::string> Floors::inner_rule(const std::string& room, const std::string& path,
                                              const std::string& target) const {
  const auto inside = inside_.find(room);
  if (inside == inside_.end()) return std::nullopt;
  const auto floor_of_folder = [&](const std::string& folder) {
    const auto has = [&](const auto& floor) { return std::ranges::count(floor, folder) > 0; };
    return std::ranges::find_if(inside->second, has) - inside->second.begin();
  };
  const std::string from = folder_in(room, path), to = folder_in(room, target);
  const auto from_floor = floor_of_folder(from), to_floor = floor_of_folder(to);
  const auto floors = std::ssize(inside->second);
  if (from_floor == floors || to_floor == floors) {
    return "folder " + (from_floor == floors ? from : to) + " of " + room +
           " has no inner floor in cmake/rooms.cmake";
  }
  if (from == to || to_floor < from_floor) return std::nullopt;
  return "folder " + from + " of " + room + " (inner floor " + std::to_string(from_floor) +
         ") may not include " + target + " (inner floor " + std::to_string(to_floor) + ")";
}

std::optional<std::string> Floors::room_of(const std::string& path) const {
  std::optional<std::string> best;
  for (const auto& floor : rooms_) {
    for (const std::string& room : floor) {
      if (starts_with(path, "engine/" + room + "/") && (!best || room.size() > best->size())) {
        best = room;
      }
    }
  }
  return best;
}

std::optional<int> Floors::floor_of(const std::string& room) const {
  for (std::size_t floor = 0; floor < rooms_.size(); ++floor) {
    for (const std::string& name : rooms_[floor]) {
      if (name == room) return static_cast<int>(floor);
    }
  }
  return std::nullopt;
}

std::optional<std::string> included_by(const std::string& line) {
  const auto start = line.find_first_not_of(" \t");
  if (start == std::string::npos || line.compare(start, 8, "#include") != 0) return std::nullopt;
  const auto open = line.find('"', start);
  if (open == std::string::npos) return std::nullopt;
  const auto close = line.find('"', open + 1);
  if (close == std::string::npos) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

Complaints forbidden_includes(const Floors& floors, const Source& source) {
  Complaints found;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const auto target = included_by(source.lines[i]);
    if (!target) continue;
    if (const auto why = rule(floors, source.path, *target)) {
      found.push_back(complaint(source, i, *why));
    }
  }
  return found;
}

}  // namespace lockstep::house
