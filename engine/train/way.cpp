#include "engine/train/way.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::train {
namespace {

using Names = std::vector<std::string>;

Names without(const Names& names, const Names& left_out) {
  Names rest;
  for (const std::string& name : names) {
    if (std::ranges::find(left_out, name) == left_out.end()) rest.push_back(name);
  }
  return rest;
}

std::string_view of_slot(Slot slot) {
  return slot == Slot::execution   ? "who runs which part of the model"
         : slot == Slot::reduction ? "how gradients become one"
                                   : "what buckets go through";
}

// Refuses what two ways of one slot declare, except where one of them has said why itself.
void share_slot(Options& options, const Way& way, const Way& other, const Names& of_other) {
  const std::string why =
      other.option.empty()
          ? text("belongs to ", other.name, ", which --", way.option, " replaces; leave one of ",
                 "them out")
          : text("and --", way.option, " both say ", of_slot(way.slot), "; leave one of them out");
  options.only_if(without(of_other, way.reads), why,
                  [way](const Arguments& arguments) { return !way.chosen(arguments); });
}

void check_axes(std::span<const Way> ways) {
  std::map<mesh::Axis, std::string> names;
  for (const Way& way : ways) {
    LOCKSTEP_CHECK(way.axis || way.slot != Slot::axis, way.name,
                   " is in the slot axis and says no ", "axis; say which in ", way.stem, ".hpp");
    if (!way.axis) continue;
    const auto [at, is_new] = names.try_emplace(*way.axis, way.name);
    LOCKSTEP_CHECK(is_new, way.name, " has the axis ", mesh::name_of(*way.axis), ", as ",
                   at->second, "; an axis belongs to one way");
  }
}

// The size that the command line gives an axis.
std::int64_t size_of(const Way& way, const Arguments& arguments) {
  if (!arguments.given(way.option)) return 1;
  const std::int64_t size = arguments.integer(way.option, 1);
  if (size > 1 << 16) throw UsageError(text("--", way.option, " ", size, " is more than 65,536"));
  return size;
}

bool refuses(const Way& way, const Way& other) {
  return std::ranges::any_of(way.refuses,
                             [&](const Refusal& refusal) { return refusal.what == other.stem; });
}

}  // namespace

void declare_ways(Options& options, std::span<const Way> ways) {
  check_axes(ways);
  std::map<std::string, Names> declared;  // by stem
  for (const Way& way : ways) {
    const Names before = options.names();
    if (way.declare) way.declare(options);
    declared[way.stem] = without(options.names(), before);
  }
  const Names all = options.names();
  for (const Way& way : ways) {
    for (const Refusal& refusal : way.refuses) {
      const auto found = declared.find(refusal.what);
      const bool known =
          found != declared.end() || std::ranges::find(all, refusal.what) != all.end();
      LOCKSTEP_CHECK(known, way.name, " refuses '", refusal.what,
                     "', which is neither a way nor an option; look for it in ", way.stem, ".hpp");
      const Names names = found != declared.end() ? found->second : Names{refusal.what};
      options.only_if(without(names, way.reads), refusal.why,
                      [way, unless = refusal.unless](const Arguments& arguments) {
                        return !way.chosen(arguments) || (unless && unless(arguments));
                      });
    }
    for (const Way& other : ways) {
      const bool apart = way.slot != other.slot || way.slot == Slot::axis || &way == &other;
      if (apart || way.option.empty() || refuses(way, other) || refuses(other, way)) continue;
      share_slot(options, way, other, declared[other.stem]);
    }
  }
}

std::vector<const Way*> ways_of(const Arguments& arguments, std::span<const Way> ways) {
  std::vector<const Way*> all{&trainer_of(arguments, ways)};
  for (const Way& way : ways) {
    const bool trains = way.slot == Slot::execution || way.slot == Slot::reduction;
    if (!trains && way.chosen(arguments)) all.push_back(&way);
  }
  return all;
}

const Way& trainer_of(const Arguments& arguments, std::span<const Way> ways) {
  const Way* by_default = nullptr;
  for (const Slot slot : {Slot::execution, Slot::reduction}) {
    const Way* chosen = nullptr;
    for (const Way& way : ways) {
      if (way.slot != slot) continue;
      // The last one: --no-overlap also says how a way that is declared later goes about it.
      if (way.chosen(arguments)) chosen = &way;
      if (way.option.empty()) by_default = &way;
    }
    if (chosen != nullptr) return *chosen;
  }
  LOCKSTEP_CHECK(by_default != nullptr, "no way to train is chosen, and none is the default; ",
                 "declare one whose option is empty");
  return *by_default;
}

std::int64_t ranks_of_axes(const Arguments& arguments, std::span<const Way> ways) {
  std::int64_t ranks = 1;
  for (const Way& way : ways) {
    if (way.slot == Slot::axis) {
      ranks = std::min(ranks * size_of(way, arguments), std::int64_t{1} << 32);
    }
  }
  return ranks;
}

mesh::AxisSizes axes_of(const Arguments& arguments, std::span<const Way> ways, int ranks) {
  mesh::AxisSizes sizes{.dp = ranks};
  for (const Way& way : ways) {
    if (!way.axis) continue;
    sizes[*way.axis] = static_cast<int>(size_of(way, arguments));
    sizes.dp /= sizes[*way.axis];
  }
  return sizes;
}

std::int64_t ranks_asked_for(const Arguments& arguments, std::span<const Way> ways,
                             std::int64_t most) {
  std::int64_t ranks = std::min(ranks_of_axes(arguments, ways), most + 1);
  for (const Way& way : ways) {
    if (!way.ranks || !way.chosen(arguments)) continue;
    const std::int64_t asked = way.ranks(arguments);
    ranks = asked > most ? most + 1 : std::min(ranks * asked, most + 1);
  }
  if (arguments.declared("dp") && arguments.given("dp")) {
    const std::int64_t replicas = arguments.integer("dp", 1);
    ranks = replicas > most ? most + 1 : std::min(ranks * replicas, most + 1);
  }
  return ranks;
}

}  // namespace lockstep::train
