#include "engine/checkpoint/beginning.hpp"

#include <sstream>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/checkpoint/agree.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/read_index.hpp"
#include "engine/checkpoint/saved_run.hpp"

namespace lockstep::checkpoint {
namespace {

namespace fs = std::filesystem;

// Ranks wait as long as this for one that still reads. It is lost sooner, if it dies.
constexpr double read_s_max = 3600;
// The first letter of what a rank tells the others.
constexpr char take = 't', begin = 'b', usage = 'u', failed = 'f';      // rank 0: its choice
constexpr char sees = 's', whole = 'w', damage = 'd', not_there = 'n';  // all: what they see

// Reads the tensors whose turn is this rank's, and so compares their checksums.
void read_share(const SavedRun& saved, int rank, int ranks) {
  CpuDevice device;
  int turn = 0;
  for (const SavedTensors* tensors : {&saved.weights(), &saved.optimizer()}) {
    for (const TensorEntry& entry : tensors->tensors()) {
      if (turn++ % ranks == rank) tensors->load(entry, device);
    }
  }
}

bool is_whole(const fs::path& checkpoint) {
  try {
    read_share(SavedRun(checkpoint), 0, 1);
    return true;
  } catch (const CheckpointError&) {
    return false;
  }
}

std::string told_of_older(const fs::path& damaged) {
  auto older = whole_before(damaged);
  while (older && !is_whole(*older)) older = whole_before(*older);
  if (!older) {
    return "No older one beside it is whole: to train from the start, leave out --resume and pass "
           "a different --checkpoint";
  }
  return text(older->string(), " is whole: to continue from it, type --resume auto in place of ",
              "--resume");
}

[[noreturn]] void refuse_damaged(const fs::path& path, const std::string& why) {
  throw UsageError(
      text("--resume: the latest checkpoint is damaged (", why, "). ", told_of_older(path)));
}

void refuse_if_told(const std::string& proposal) {
  if (proposal[0] == usage) throw UsageError(proposal.substr(1));
  if (proposal[0] == failed) throw CheckpointError(proposal.substr(1));
}

// Rank 0's way through the checkpoints of a folder, from the newest on.
class Choice {
 public:
  explicit Choice(const Wish& wish) : wish_(wish) {}

  // The next proposal, or why there is none.
  std::string propose() {
    try {
      if (!listed_ && !wish_.folder.empty()) names_ = checkpoints_in(FileStorage(wish_.folder));
      listed_ = true;
      return next();
    } catch (const UsageError& error) {
      return usage + std::string(error.what());
    } catch (const NewerFormat& error) {
      return usage + std::string(error.what());
    } catch (const CheckpointError& error) {
      return failed + std::string(error.what());
    }
  }
  // The last proposal is damaged.
  void pass_over(const std::string& why) {
    told_ += text(path_of(names_.back()).string(), " is damaged (", why, "); it stays there\n");
    damaged_ += " " + names_.back();
    names_.pop_back();
  }

 private:
  fs::path path_of(const std::string& name) const { return wish_.folder / name; }

  std::string next() {
    const bool searches = looks_for_whole(wish_);
    if (!searches && wish_.resume == Resume::not_typed && !names_.empty()) {
      throw UsageError(text("--checkpoint: ", path_of(names_.back()).string(),
                            " belongs to an earlier run; pass --resume to continue it, or a ",
                            "different folder"));
    }
    while (!names_.empty()) {
      const fs::path path = path_of(names_.back());
      const std::string why = damage_of(path);
      if (why.empty()) break;
      if (!searches) refuse_damaged(path, why);
      pass_over(why);
    }
    if (names_.empty()) return first_step();
    if (wish_.resume == Resume::not_typed) check_own(path_of(names_.back()));
    return text(take, names_.back(), damaged_, "\n", told_);
  }

  std::string first_step() {
    if (!damaged_.empty()) {
      throw UsageError(text("no checkpoint in ", wish_.folder.string(), " is whole: ", told_,
                            "To train from the first step, pass a different --checkpoint"));
    }
    if (wish_.resume == Resume::latest) {
      throw UsageError(text("--resume: there is no checkpoint in '", wish_.folder.string(),
                            "'; to start a new run, leave out --resume, or type --resume auto, ",
                            "which begins where there is none"));
    }
    if (looks_for_whole(wish_)) {
      told_ = text("no checkpoint in ", wish_.folder.string(), " yet: begins at the first step\n");
    }
    return text(begin, "\n", told_);
  }

  void check_own(const fs::path& path) const {
    const Metadata notes = SavedRun(path).state().notes;
    const auto run = notes.find("run");
    if (!wish_.run.empty() && run != notes.end() && run->second == wish_.run) return;
    throw UsageError(text("--checkpoint: ", path.string(), " is not known to be of this run",
                          wish_.run.empty() ? ", to which the launcher gives no name" : "",
                          "; pass --resume auto to continue it, or a different folder"));
  }

  const Wish& wish_;
  bool listed_ = false;
  std::vector<std::string> names_;  // by step, and not looked at
  std::string damaged_, told_;
};

// Reads a proposal: "tstep_000004 step_000008\nstep_000008 is damaged…".
Beginning beginning_of(const std::string& proposal) {
  Beginning read;
  const std::size_t line = proposal.find('\n');
  std::istringstream names(proposal.substr(1, line - 1));
  std::string name;
  if (proposal[0] == take && names >> name) read.from = name;
  while (names >> name) read.damaged.push_back(name);
  read.told = proposal.substr(line + 1);
  return read;
}

std::string newest_seen(const fs::path& folder) {
  try {
    return folder.empty() ? "" : latest_in(FileStorage(folder)).value_or("");
  } catch (const CheckpointError&) {
    return "";
  }
}

// Looks at rank 0's proposal, and says what this rank sees.
std::string looked_at(const Wish& wish, const std::string& name, const comm::ProcessGroup& group) {
  const FileStorage storage(wish.folder);
  try {
    if (wish.folder.empty() || !is_committed(storage, name)) {
      return not_there + newest_seen(wish.folder);
    }
    const SavedRun saved(storage, name);
    if (looks_for_whole(wish)) read_share(saved, group.rank(), group.size());
    const std::string commit = commit_of(wish.folder / name).filename().string();
    const std::string content = read_text(storage, within(name, commit), index_bytes_max);
    return whole + text(checksum_of(std::as_bytes(std::span(content))));
  } catch (const CheckpointError& error) {
    return damage + std::string(error.what());
  }
}

[[noreturn]] void refuse_view(const fs::path& folder, const std::string& first, int rank,
                              const std::string& other) {
  const auto seen = [&](const std::string& name) {
    return name.empty() ? "no checkpoint" : "checkpoint " + (folder / name).string();
  };
  throw UsageError(text("--checkpoint ", folder.string(), ": rank 0 sees ", seen(first), ", rank ",
                        rank, " sees ",
                        first == other  ? "another of this name"
                        : other.empty() ? "none"
                                        : seen(other),
                        ": do the ranks share that folder? Pass one that all of them see"));
}

// Throws unless all ranks see what rank 0 has proposed.
//   Returns  what is damaged, as the first rank that found it says; empty when it is whole
std::string compared(const Wish& wish, const std::string& name,
                     const std::vector<std::string>& looked) {
  std::string damaged;
  for (std::size_t rank = 0; rank < looked.size(); ++rank) {
    const std::string said = looked[rank].substr(1);
    const int number = static_cast<int>(rank);
    if (looked[rank][0] == not_there) refuse_view(wish.folder, name, number, said);
    if (looked[rank][0] == damage && damaged.empty()) damaged = said;
    const bool differs =
        looked[rank][0] == whole && looked[0][0] == whole && looked[rank] != looked[0];
    if (differs) refuse_view(wish.folder, name, number, name);
  }
  return damaged;
}

}  // namespace

bool looks_for_whole(const Wish& wish) {
  return wish.resume == Resume::automatic || (wish.attempt > 0 && !wish.folder.empty());
}

void check_beginning(const Wish& wish) { refuse_if_told(Choice(wish).propose()); }

Beginning agree_on_beginning(comm::ProcessGroup& group, const Wish& wish) {
  const bool first = group.rank() == 0;
  Choice choice(wish);
  while (true) {
    const auto said =
        gather_texts(group, first ? choice.propose() : sees + newest_seen(wish.folder));
    refuse_if_told(said[0]);
    Beginning proposed = beginning_of(said[0]);
    proposed.run = wish.run;
    proposed.may_be_over = looks_for_whole(wish);
    if (!proposed.from) {
      for (std::size_t rank = 1; rank < said.size(); ++rank) {
        if (said[rank].size() == 1) continue;
        refuse_view(wish.folder, "", static_cast<int>(rank), said[rank].substr(1));
      }
      return proposed;
    }
    const std::string seen = looked_at(wish, *proposed.from, group);
    group.monitored_barrier(read_s_max);
    const auto looked = gather_texts(group, seen);
    const std::string damaged = compared(wish, *proposed.from, looked);
    if (damaged.empty()) return proposed;
    if (!looks_for_whole(wish)) refuse_damaged(wish.folder / *proposed.from, damaged);
    if (first) choice.pass_over(damaged);
  }
}

std::string told_if_damaged(const fs::path& checkpoint) {
  return is_whole(checkpoint) ? "" : told_of_older(checkpoint);
}

}  // namespace lockstep::checkpoint
