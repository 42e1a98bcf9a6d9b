#include "engine/checkpoint/remains.hpp"

#include <algorithm>

#include "engine/base/shell_word.hpp"
#include "engine/base/units.hpp"
#include "engine/checkpoint/index.hpp"
#include "engine/checkpoint/mark.hpp"
#include "engine/checkpoint/read_index.hpp"

namespace lockstep::checkpoint {
namespace {

void tell_by(const Tell& tell, const std::string& sentence) {
  if (tell) tell("checkpoint: " + sentence);
}

// "step_000500.old" and "step_000500.tmp", which saves before there were indexes have left, and
// which people make, too.
bool is_beside_a_step(std::string name) {
  bool has_end = false;
  for (const char* end : {".tmp", ".old"}) {
    if (!name.ends_with(end)) continue;
    name.resize(name.size() - 4);
    has_end = true;
  }
  return has_end && step_of(name);
}

void tell_kept(const Storage& storage, const std::string& folder, const std::string& why,
               const Tell& tell) {
  const std::string told = storage.told(folder);
  tell_by(tell, text(told, " is kept, and no run resumes from it: ", why,
                     ". If you do not need it, type rm -r ", shell_word(told)));
}

// Tells what is left of a folder from which all is removed that saves wrote, unless it is gone.
void tell_rest(const Storage& storage, const std::string& folder, const Tell& tell) {
  const auto rest = storage.list(folder);
  if (rest.empty()) return;
  tell_kept(storage, folder,
            text("no save is known to have written ", quoted(rest.front().name),
                 rest.size() > 1 ? text(" and ", counted(std::ssize(rest) - 1, "other name"))
                                 : std::string(),
                 " in it"),
            tell);
}

void clear_folder(Storage& storage, const std::string& folder, const Tell& tell) {
  try {
    const Written written = written_in(storage, folder, storage.list(folder), By::marks);
    if (written.by_a_save()) {
      const int files = remove_written(storage, folder, written);
      tell_by(tell, text("removed ", counted(files, "file"), " from ", storage.told(folder),
                         ", where a save or a removal was cut off",
                         written.run.empty() ? "" : ", in the run " + written.run));
    }
    tell_rest(storage, folder, tell);
  } catch (const NewerFormat&) {
    tell_kept(storage, folder, "a newer version of Lockstep began to save it", tell);
  }
}

bool is_whole_checkpoint(const Storage& storage, const std::string& folder) {
  try {
    read_index(storage, folder, Reads::all);
    return true;
  } catch (const CheckpointError&) {
    return false;
  }
}

// Makes a checkpoint none, and then removes what saves wrote of it. Behind the rename of its index
// it is what a save leaves that was cut off, with a mark that names all files.
void remove_checkpoint(Storage& storage, const Stored& one, const SaveOptions& options) {
  const std::string& folder = one.name;
  const auto names = storage.list(folder);
  const Written known = written_in(storage, folder, names, By::marks_and_index);
  if (!known.by_a_save()) return tell_rest(storage, folder, options.tell);
  if (one.is_link) {
    storage.remove(folder);
    return tell_by(options.tell, text("removed the link ", storage.told(folder),
                                      "; the checkpoint that it leads to is as it was"));
  }
  for (const Stored& file : names) {
    if (file.name == index_file && known.indexed) {
      storage.rename(within(folder, index_file), within(folder, removed_file));
    } else if (file.name == index_file || file.name == state_file) {
      storage.remove(within(folder, file.name));
    }
  }
  storage.sync(folder);
  Written left = known;
  if (known.indexed) left = written_in(storage, folder, storage.list(folder), By::marks);
  for (const ExtraFile& extra : options.files) {
    if (known.marks.empty()) left.files.push_back(extra.name);  // as an earlier version saved
  }
  remove_written(storage, folder, left);
  tell_rest(storage, folder, options.tell);
}

}  // namespace

void clear_remains(Storage& storage, const std::string& folder, const Tell& tell) {
  for (const Stored& one : storage.list("")) {
    if (one.name == folder && one.is_link) {
      throw CheckpointError(text(storage.told(folder),
                                 " is a link, and a save writes behind none; "
                                 "remove it (what it leads to stays), or save to another folder"));
    }
    if (one.kind != StoredKind::folder || one.is_link) continue;
    if (is_beside_a_step(one.name)) {
      tell_kept(storage, one.name, "a save writes no folder of this name", tell);
    } else if (step_of(one.name) && !is_committed(storage, one.name)) {
      clear_folder(storage, one.name, tell);
    }
  }
}

void keep_last(Storage& storage, const std::string& folder, const SaveOptions& options) {
  const auto all = storage.list("");
  const auto others = checkpoints_in(storage);
  int kept = 1;
  for (auto one = others.rbegin(); one != others.rend(); ++one) {
    if (*one == folder) continue;
    if (kept < options.keep_last) {
      const bool damaged = std::ranges::find(options.damaged, *one) != options.damaged.end();
      if (!damaged && is_whole_checkpoint(storage, *one)) ++kept;
      continue;
    }
    const auto found = std::ranges::find(all, *one, &Stored::name);
    try {
      if (found != all.end()) remove_checkpoint(storage, *found, options);
    } catch (const NewerFormat& newer) {
      tell_by(options.tell, newer.what());
    }
  }
}

}  // namespace lockstep::checkpoint
