// A save removes what saves that were cut off have left, and older checkpoints. Nothing else goes,
// whatever its name: a file goes if a mark or an index names it, and of a link the link goes.
// Private to this room.
#pragma once

#include "engine/checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {

using Tell = std::function<void(const std::string&)>;

// Clears remains of saves away, and tells what it removed and what it kept.
//   Throws  CheckpointError when `folder`, into which a save is going to write, is a link
void clear_remains(Storage& storage, const std::string& folder, const Tell& tell);

// Keeps `folder` and, of the others, the whole ones of the most steps, options.keep_last together:
// a run that went back to an earlier step must not lose what it just saved, and none may lose the
// last one that can be loaded. What a newer version wrote stays, and so does what nobody can read.
void keep_last(Storage& storage, const std::string& folder, const SaveOptions& options);

}  // namespace lockstep::checkpoint
