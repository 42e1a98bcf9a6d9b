// One name, one type. A type's name is one in its room, and house words stand for one type in the
// whole tree, so that a reader who meets a word need not ask which one it is.
//
// A room is a folder of engine/ or grader/ with all folders in it; each folder of engine/parallel,
// and each part of grader/parts, is a room of its own. Types inside other types are free. Several
// aliases for the same type are one type.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/house/sources.hpp"

namespace lockstep::house {

// A type at namespace scope, unnamed namespaces included: a class, an enumeration or an alias.
// Declarations without a body and specialisations of templates are none.
struct NamedType {
  std::string name;
  std::string path;
  std::size_t line_index = 0;
  std::string alias_of;  // empty: a type of its own
};
std::vector<NamedType> named_types(const Source& source);

std::string room_of(const std::string& path);  // "engine/comm" of "engine/comm/worlds/x.hpp"

// One complaint for each type whose name another type of its room has.
Complaints names_shared_in_rooms(const std::vector<Source>& sources);

// House words, and the file in which each is a type; "" for a word that no type may have.
using HouseWords = std::map<std::string, std::string>;

// One complaint for each type that has a house word as its name and stands elsewhere, and for each
// word whose file has no such type.
//   exceptions  "path Name" of types that may keep such a name; one that is not needed is told, too
Complaints taken_house_words(const std::vector<Source>& sources, const HouseWords& words,
                             const std::vector<std::string>& exceptions);

// One complaint for each comment on lines of its own that opens with Of, What, Whether, Where or
// Who, as fragments do: "Of all ranks." Name the subject: "The names of all ranks."
Complaints fragment_comments(const Source& source);

}  // namespace lockstep::house
