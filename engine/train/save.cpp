#include "engine/train/save.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/checkpoint/agree.hpp"
#include "engine/checkpoint/rank0_checkpoint.hpp"
#include "engine/checkpoint/sharded_checkpoint.hpp"

namespace lockstep::train {
namespace {

constexpr std::int64_t share_bytes_min = 1 << 16;
// Ranks wait as long as this for the one that writes, which takes as long as its storage does. It
// is lost sooner, if it dies.
constexpr double write_s_max = 3600;

// A box in parts along the first axis that has more than one place.
Boxes cut_along_first(const Box& box, std::int64_t parts) {
  std::size_t axis = 0;
  while (axis < box.begin.size() && box.end[axis] - box.begin[axis] <= 1) ++axis;
  if (axis == box.begin.size()) return {box};
  const std::int64_t places = box.end[axis] - box.begin[axis];
  parts = std::min(parts, places);
  Boxes cuts;
  for (std::int64_t i = 0; i < parts; ++i) {
    Box cut = box;
    cut.begin[axis] = box.begin[axis] + places * i / parts;
    cut.end[axis] = box.begin[axis] + places * (i + 1) / parts;
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

// The dealing of one tensor's boxes after the other.
class Dealing {
 public:
  explicit Dealing(int ranks)
      : shares_(static_cast<std::size_t>(ranks)), bytes_(static_cast<std::size_t>(ranks)) {}

  // Deals what `holders` hold of one tensor.
  void deal(const std::vector<const Held*>& holders) {
    Boxes missing = whole_of(holders.front()->shape);
    for (const Held* first : holders) {
      for (const Box& box : first->boxes) {
        for (const Box& part : take(missing, {box})) deal(part, box, holders);
      }
    }
    check_whole(*holders.front(), missing);
  }

  std::vector<std::vector<Share>> take_shares() {
    for (auto& of_rank : shares_) std::ranges::sort(of_rank, {}, &Share::place);
    return std::move(shares_);
  }

 private:
  // A part of a box that some of the holders have.
  void deal(const Box& part, const Box& box, const std::vector<const Held*>& holders) {
    std::vector<const Held*> candidates;
    for (const Held* one : holders) {
      if (std::ranges::find(one->boxes, box) != one->boxes.end()) candidates.push_back(one);
    }
    const auto element = static_cast<std::int64_t>(bytes_of(holders.front()->dtype));
    const std::int64_t most = numel_of(part) * element / share_bytes_min;
    for (const Box& cut :
         cut_along_first(part, std::clamp<std::int64_t>(most, 1, std::ssize(candidates)))) {
      const Held& writer = **std::ranges::min_element(
          candidates, {}, [&](const Held* one) { return bytes_of_rank(one->rank); });
      bytes_of_rank(writer.rank) += numel_of(cut) * element;
      add(writer, cut);
    }
  }

  void add(const Held& writer, const Box& box) {
    auto& of_rank = shares_[static_cast<std::size_t>(writer.rank)];
    if (of_rank.empty() || of_rank.back().place != writer.place) {
      of_rank.push_back({writer.place, {}});
    }
    of_rank.back().boxes.push_back(box);
  }

  std::int64_t& bytes_of_rank(int rank) { return bytes_[static_cast<std::size_t>(rank)]; }

  std::vector<std::vector<Share>> shares_;
  std::vector<std::int64_t> bytes_;  // by rank
};

void check_replicas(comm::ProcessGroup& group, const std::vector<Piece>& pieces) {
  const int differs = compare(group, pieces).differs;
  if (differs < 0) return;
  throw Error(text("--save sharded writes a share of each replica, but ",
                   group.names().name(differs),
                   " holds other parameters than a rank before it; pass --save dense, which saves "
                   "those of one replica"));
}

// The contents of this rank's files: of a dense checkpoint all of it, on the reporter alone; of a
// sharded one its share.
checkpoint::Contents contents_to_write(Strategy& strategy, SaveForm form,
                                       std::string_view optimizer) {
  comm::ProcessGroup& group = strategy.trainers();
  const std::vector<Piece> pieces = strategy.pieces();
  if (form == SaveForm::dense) {
    return gather_contents(group, strategy.position().reporter, pieces, strategy.device(),
                           optimizer);
  }
  check_replicas(group, pieces);
  const auto shares = plan_shares(gather_held(group, pieces), group.size());
  checkpoint::Contents mine{{}, std::string(optimizer)};
  for (const auto& [place, boxes] : shares[static_cast<std::size_t>(group.rank())]) {
    mine.pieces.push_back(pieces[place]);
    mine.pieces.back().boxes = boxes;
    mine.pieces.back().value = part_of(pieces[place], boxes);
  }
  return mine;
}

std::string saving(std::int64_t step) { return text("saving step ", step); }

void save_now(Strategy& strategy, SaveForm form, std::string_view optimizer,
              checkpoint::Storage& storage, const checkpoint::TrainState& state,
              const checkpoint::SaveOptions& options) {
  const checkpoint::Contents contents = contents_to_write(strategy, form, optimizer);
  comm::ProcessGroup& group = strategy.trainers();
  const int reporter = strategy.position().reporter;
  if (reporter < 0) return;  // it trains apart from these
  const bool sharded = form == SaveForm::sharded;
  if (sharded) return save_sharded(group, reporter, storage, contents, state, options);
  try {
    checkpoint::save_from_one(group, reporter, storage, contents, state, options);
  } catch (const checkpoint::CheckpointError& error) {
    // All fail together, and only the writer knows why; whichever ends first tells it.
    const auto told = checkpoint::gather_texts(group, error.what());
    if (group.rank() == reporter) throw;
    throw checkpoint::CheckpointError(text(group.names().name(reporter), " could not save: ",
                                           told[static_cast<std::size_t>(reporter)]));
  }
}

}  // namespace

std::vector<std::vector<Share>> plan_shares(const std::vector<Held>& held, int ranks) {
  Dealing dealing(ranks);
  for (const auto& holders : by_tensor(held)) dealing.deal(holders);
  return dealing.take_shares();
}

void save(Strategy& strategy, SaveForm form, std::string_view optimizer,
          checkpoint::Storage& storage, const checkpoint::TrainState& state,
          const checkpoint::SaveOptions& options) {
  checkpoint::telling(strategy.trainers(), saving(state.step),
                      [&] { save_now(strategy, form, optimizer, storage, state, options); });
}

Saver::Saver(Strategy& strategy, Options options, checkpoint::Storage& storage)
    : strategy_(strategy), options_(std::move(options)), storage_(storage) {
  if (options_.beside == nullptr) return;
  background_ = checkpoint::make_async_checkpoint(*options_.beside);
  comm::ProcessGroup& group = strategy.trainers();
  if (options_.form == SaveForm::sharded) behind_ = group.split(0, group.rank());
}

void Saver::save(const checkpoint::TrainState& state) {
  if (!background_) {
    return train::save(strategy_, options_.form, options_.optimizer, storage_, state,
                       options_.of_checkpoints);
  }
  finish();
  checkpoint::Contents contents;
  checkpoint::telling(strategy_.trainers(), saving(state.step), [&] {
    contents = contents_to_write(strategy_, options_.form, options_.optimizer);
  });
  in_flight_ = state.step;
  const int reporter = strategy_.position().reporter;
  if (!behind_ && strategy_.trainers().rank() != reporter) return;
  snapshot_bytes_ = {};
  for (const Piece& piece : contents.pieces) {
    snapshot_bytes_[static_cast<std::size_t>(piece.kind)] +=
        static_cast<std::int64_t>(piece.value.bytes());
  }
  background_->start(contents, [this, state, reporter](const checkpoint::Contents& snapshot) {
    if (behind_) {
      checkpoint::save_sharded(*behind_, reporter, storage_, snapshot, state,
                               options_.of_checkpoints);
    } else {
      checkpoint::save(storage_, snapshot, state, options_.of_checkpoints);
    }
  });
}

void Saver::finish() {
  const auto step = std::exchange(in_flight_, std::nullopt);
  if (!step) return;
  comm::ProcessGroup& group = strategy_.trainers();
  checkpoint::telling(group, saving(*step), [&] {
    if (behind_) return background_->wait();  // the writers have agreed
    std::exception_ptr failure;
    try {
      background_->wait();
    } catch (const checkpoint::CheckpointError&) {
      failure = std::current_exception();
    }
    group.monitored_barrier(write_s_max);
    checkpoint::agree(group, [&] {
      if (failure) std::rethrow_exception(failure);
      return std::string();
    });
  });
}

}  // namespace lockstep::train
