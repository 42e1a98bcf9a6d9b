// The index of a checkpoint in a storage, of its older form too. Private to this room.
#pragma once

#include <memory>

#include "engine/checkpoint/index.hpp"
#include "engine/checkpoint/indexed_tensors.hpp"

namespace lockstep::checkpoint {

// The files of a checkpoint before there were indexes. The folder was renamed when it was whole.
constexpr const char* model_file = "model.safetensors";
constexpr const char* optimizer_file = "optimizer.safetensors";
constexpr const char* state_file = "train.json";

enum class Reads : std::uint8_t { all, model };

// Reads the index. Of the older form the model's file is enough where only that is asked for; its
// boxes have no checksums.
//   Throws  CheckpointError when a file of the index is missing, or not as long as it says: the
//           sentence names the file and a tensor in it
std::shared_ptr<const Index> read_index(const Storage& storage, const std::string& folder,
                                        Reads reads);

// Looks for the files of an index in the list of its folder. Throws as read_index.
void check_files(const Storage& storage, const std::string& folder,
                 const std::vector<Stored>& names, const Index& index);

// True if a save into the folder was committed, and nothing has removed it since.
bool is_committed(const Storage& storage, const std::string& folder);

}  // namespace lockstep::checkpoint
