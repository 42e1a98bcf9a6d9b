#include "grader/exam/collective/places.hpp"

#include <algorithm>

#include "grader/exam/collective/causes.hpp"
#include "grader/exam/ranks/traffic.hpp"

namespace lockstep::grader {

std::optional<Cause> counted_from_root(const CollectiveProblem& p, const Holding& held,
                                       std::span<const double> seen) {
  if (p.root == 0 || held.reduced() || held.after.empty() || held.after.size() % p.ranks() != 0) {
    return std::nullopt;
  }
  std::vector<double> turned = held.after;
  const auto block = std::ssize(turned) / p.size();
  std::ranges::rotate(turned, turned.begin() + p.root * block);
  if (turned == held.after || !std::ranges::equal(seen, turned)) return std::nullopt;
  return Cause{"counted_from_root",
               text("the blocks are in the order of places counted from the root, ", p.root,
                    "; block r belongs to rank r, whichever rank is the root")};
}

std::optional<Cause> block_of_another(const CollectiveProblem& p, const Scene& scene, int rank,
                                      std::size_t buffer, std::span<const double> seen) {
  const auto after_of = [&](int of) -> const Holding& {
    return scene.ranks[static_cast<std::size_t>(of)][buffer];
  };
  const Holding& held = after_of(rank);
  for (int other = 0; other < p.size() && !held.reduced(); ++other) {
    const bool there = buffer < scene.ranks[static_cast<std::size_t>(other)].size();
    if (!there || after_of(other).after == held.after || seen.empty()) continue;
    if (!std::ranges::equal(seen, after_of(other).after)) continue;
    const bool from_root =
        p.root != 0 && ((other + p.root) % p.size() == rank || (rank + p.root) % p.size() == other);
    return Cause{
        from_root ? "counted_from_root" : "block_of_another",
        text("all of `", held.name, "` is what rank ", other, " should hold",
             from_root ? text(": blocks are counted from the root, ", p.root,
                              ", and block r belongs to rank r, whichever rank is the root")
                       : std::string("; check the index of the block"))};
  }
  return std::nullopt;
}

std::optional<Cause> own_block_elsewhere(const CollectiveProblem& p, const Holding& held, int rank,
                                         std::span<const double> seen, std::size_t at) {
  if (p.sends.empty() || held.name != "out" || seen.size() != held.after.size()) {
    return std::nullopt;
  }
  const auto mine = static_cast<std::size_t>(rank);
  std::size_t place = 0, by_to_each = 0;
  for (std::size_t other = 0; other < mine; ++other) {
    place += static_cast<std::size_t>(p.sends[other][mine]);
    by_to_each += static_cast<std::size_t>(p.sends[mine][other]);
  }
  const auto length = static_cast<std::size_t>(p.sends[mine][mine]);
  if (at < place || at >= place + length) return std::nullopt;
  const auto own = std::span(held.after).subspan(place, length);
  bool lies_there = place != by_to_each && by_to_each + length <= seen.size();
  for (std::size_t i = 0; i < length && lies_there; ++i) {
    const std::size_t there = by_to_each + i;  // what came later may lie above it
    lies_there = seen[there] == own[i] || seen[there] == held.after[there];
  }
  if (lies_there) {
    return Cause{
        "own_block_elsewhere",
        text("the block that rank ", rank, " keeps is not at its place in `out`, element ", place,
             ", which from_each gives; to_each gives its place in `in`, and by "
             "that it would begin at element ",
             by_to_each, " here")};
  }
  return Cause{"own_block_elsewhere", text("the block that rank ", rank,
                                           " keeps is not at its place in `out`: it begins "
                                           "at element ",
                                           place,
                                           ", behind the blocks of lower ranks, and is copied from "
                                           "`in` by the rank itself")};
}

void tell_empty_buffer(Failure& found, const CollectiveProblem& p,
                       const std::vector<Scene>& calls) {
  if (found.cause != "returned_early" || p.size() == 1 || calls.empty()) return;
  const auto& ranks = calls.front().ranks;
  const auto& of_root = ranks[static_cast<std::size_t>(p.root)];
  const auto& of_other = ranks[p.root == 0 ? 1 : 0];
  for (std::size_t i = 0; i < std::min(of_root.size(), of_other.size()); ++i) {
    if (of_root[i].count == 0 || of_other[i].count > 0) continue;
    found = also_because(text("`", of_root[i].name,
                              "` is empty on every rank but the root, so a "
                              "length that is computed from it is 0 there; take the length from "
                              "the buffer that each rank has"),
                         std::move(found));
    return;
  }
}

void tell_wrong_partner(Failure& found) {
  if (found.verdict != Verdict::deadlock || found.ranks.size() < 3) return;
  const auto says = [&](const std::string& what) {
    return found.message.find(what) != std::string::npos;
  };
  bool sends_there = false;
  for (std::size_t i = 0; i < found.ranks.size(); ++i) {
    const int rank = found.ranks[i], next = found.ranks[(i + 1) % found.ranks.size()];
    if (!says(text("rank ", rank, " waits in recv from rank ", next, " "))) return;
    sends_there = sends_there || says(text("rank ", rank, "'s isend to rank ", next, " "));
  }
  if (!sends_there) return;
  const std::string sentence =
      "each rank receives from the rank that it sends to, which sends to another one: who sends to "
      "rank r + k receives from rank r - k";
  found = also_because(sentence, std::move(found));
}

}  // namespace lockstep::grader
