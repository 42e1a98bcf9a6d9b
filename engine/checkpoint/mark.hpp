// The mark of a save: the first file that it puts into a folder, on the disk before any other. It
// names all files that the save is going to write there. So whoever finds a mark and no index knows
// what a save that was cut off has left, and that the rest is somebody else's.
//
//   {"format": "lockstep mark 1",
//    "run": "…",                              the run that saves; empty: unknown
//    "files": ["index.json", "index.json.tmp", "model.safetensors", …]}
//
// A star in a name stands for the digits of a rank. A mark has it where the save did not know how
// many writers there would be. Private to this room.
#pragma once

#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {

constexpr const char* again_mark = "-again";
constexpr const char* tensors_end = ".safetensors";
// The name of an index that counts no more, because its checkpoint is being removed. It is a mark:
// it names the files that are still to go.
constexpr const char* removed_file = "mark-removed.json";

std::string mark_name(int again);  // "mark.json", "mark-again1.json"
bool is_mark_name(const std::string& name);
// The number that follows "-again" in a name; 0 where there is none.
int again_of(const std::string& name);

struct SaveMark {
  std::string run = {};
  std::vector<std::string> files = {};
};
std::string mark_text(const SaveMark& mark);
//   Throws  CheckpointError, which names `where`; NewerFormat of a newer version's mark
SaveMark parse_mark(const std::string& json, const std::string& where);

// The files that saves have written into a folder, as far as its marks and its index say.
struct Written {
  std::string run = {};
  std::vector<std::string> marks = {};  // those that are there, also parts of one
  std::vector<std::string> files = {};  // those that marks and the index name
  bool indexed = false;                 // the index could be read

  bool has(const Stored& one) const;  // one of the files, or a link in the place of one
  bool by_a_save() const { return !marks.empty() || !files.empty(); }
};
//   names   of the folder
//   Throws  NewerFormat when the index or a mark is of a newer version
enum class By : std::uint8_t { marks, marks_and_index };
Written written_in(const Storage& storage, const std::string& folder,
                   const std::vector<Stored>& names, By by);

// Removes from a folder what saves have written into it, marks last, and then the folder, if it is
// empty.
//   Returns  how many files went, marks among them
int remove_written(Storage& storage, const std::string& folder, const Written& written);

}  // namespace lockstep::checkpoint
