#include "engine/train/save.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::train {
namespace {

constexpr std::int64_t share_bytes_min = 1 << 16;

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

// The result of one rank's work as text that travels: '+' and what it says, or '-' and the error.
std::string attempt(const std::function<std::string()>& work) {
  try {
    return "+" + work();
  } catch (const checkpoint::CheckpointError& error) {
    return text("-", error.what());
  }
}

// All ranks' results, or the error of the first that failed, on every rank.
std::vector<std::string> agree(comm::ProcessGroup& group,
                               const std::function<std::string()>& work) {
  std::vector<std::string> all = gather_texts(group, attempt(work));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].front() == '-') {
      throw checkpoint::CheckpointError(text(group.names().name(static_cast<int>(rank)),
                                             " could not save: ", all[rank].substr(1)));
    }
    all[rank].erase(0, 1);
  }
  return all;
}

void check_replicas(comm::ProcessGroup& group, const std::vector<Piece>& pieces) {
  const int differs = compare(group, pieces).differs;
  if (differs < 0) return;
  throw Error(text("--save sharded writes a share of each replica, but ",
                   group.names().name(differs),
                   " holds other parameters than a rank before it; pass --save dense, which saves "
                   "those of one replica"));
}

void save_shares(Strategy& strategy, std::string_view optimizer, checkpoint::Storage& storage,
                 const checkpoint::TrainState& state, const checkpoint::SaveOptions& options) {
  comm::ProcessGroup& group = strategy.trainers();
  const std::vector<Piece> pieces = strategy.pieces();
  check_replicas(group, pieces);
  const auto shares = plan_shares(gather_held(group, pieces), group.size());
  checkpoint::Contents mine{{}, std::string(optimizer)};
  for (const auto& [place, boxes] : shares[static_cast<std::size_t>(group.rank())]) {
    mine.pieces.push_back(pieces[place]);
    mine.pieces.back().boxes = boxes;
    mine.pieces.back().value = part_of(pieces[place], boxes);
  }

  const bool commits = group.rank() == strategy.position().reporter;
  checkpoint::Draft draft;
  const auto by_reporter = [&](const std::function<void()>& work) {
    return [&, work] {
      if (commits) work();
      return text(draft.folder, " ", draft.again);
    };
  };
  const auto begun = agree(group, by_reporter([&] { draft = begin_save(storage, state.step); }));
  const std::string& told = begun[static_cast<std::size_t>(strategy.position().reporter)];
  draft = {told.substr(0, told.find(' ')), std::stoi(told.substr(told.find(' ') + 1))};
  try {
    const auto written = agree(group, [&] {
      return write_share(storage, draft, {group.rank(), group.size()}, mine, options.model);
    });
    agree(group, by_reporter([&] { commit_save(storage, draft, written, state, options); }));
  } catch (const checkpoint::CheckpointError&) {
    if (commits) abandon_save(storage, draft);
    throw;
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
  if (form == SaveForm::sharded) return save_shares(strategy, optimizer, storage, state, options);
  const int reporter = strategy.position().reporter;
  const checkpoint::Contents contents = gather_contents(
      strategy.trainers(), reporter, strategy.pieces(), strategy.device(), optimizer);
  if (strategy.trainers().rank() == reporter) checkpoint::save(storage, contents, state, options);
}

}  // namespace lockstep::train
