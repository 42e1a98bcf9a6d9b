// Where the ranks of a mesh are, in nodes of eight:
//   build/release/bin/layout groups tp=4 dp=8 pp=2     the groups of each axis
//   build/release/bin/layout reversed tp=4 dp=8 pp=2   the same, with pp as the fastest axis
//   build/release/bin/layout rank 13 tp=4 dp=8 pp=2    a rank's place, groups and samples
//   build/release/bin/layout gradients tp=2 dp=2       over which axes gradients are summed
//   build/release/bin/layout numbers tp=4 dp=8 pp=2    for the figures: RANK TP DP PP
// An axis that is not named has size 1.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/mesh/device_mesh.hpp"
#include "engine/parallel/mesh/train_3d.hpp"

using namespace lockstep;
using mesh::Axis;

namespace {

constexpr int ranks_per_node = 8;

int world_of(const mesh::AxisSizes& sizes) {
  int ranks = 1;
  for (const Axis axis : mesh::usual_order) ranks *= sizes[axis];
  return ranks;
}

mesh::AxisSizes sizes_of(const std::vector<std::string>& words) {
  mesh::AxisSizes sizes;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const auto* axis = std::ranges::find(mesh::usual_order, word.substr(0, equals), mesh::name_of);
    if (equals == std::string::npos || axis == mesh::usual_order.end()) {
      throw UsageError(text("'", word, "' names no axis; write tp=4, or cp, ep, dp or pp"));
    }
    sizes[*axis] = std::stoi(word.substr(equals + 1));
  }
  return sizes;
}

std::vector<Axis> used(const mesh::AxisSizes& sizes) {
  std::vector<Axis> axes;
  for (const Axis axis : mesh::usual_order) {
    if (sizes[axis] > 1) axes.push_back(axis);
  }
  return axes;
}

std::string listed(const std::vector<int>& ranks) {
  std::string list;
  for (const int rank : ranks) list += text(list.empty() ? "" : ", ", rank);
  return "{" + list + "}";
}

std::size_t nodes_of(const std::vector<int>& ranks) {
  std::set<int> nodes;
  for (const int rank : ranks) nodes.insert(rank / ranks_per_node);
  return nodes.size();
}

void tell_groups(const mesh::Mesh& all) {
  std::cout << "axis  groups  nodes of a group  the first group\n";
  for (const Axis axis : used(all.sizes)) {
    const mesh::Groups& groups = all.along(axis);
    std::cout << std::left << std::setw(4) << name_of(axis) << std::right << std::setw(8)
              << groups.size() << std::setw(18) << nodes_of(groups.front()) << "  "
              << listed(groups.front()) << "\n";
  }
}

void tell_rank(const mesh::Mesh& all, int rank) {
  const int ranks = world_of(all.sizes);
  if (rank < 0 || rank >= ranks) {
    throw UsageError(text("there is no rank ", rank, "; these sizes have ranks 0 to ", ranks - 1));
  }
  const mesh::Coordinates& at = all.coordinates[static_cast<std::size_t>(rank)];
  for (const Axis axis : used(all.sizes)) {
    const auto group = std::ranges::find_if(all.along(axis), [&](const std::vector<int>& one) {
      return std::ranges::find(one, rank) != one.end();
    });
    std::cout << name_of(axis) << " " << at[axis] << "  in " << listed(*group) << "\n";
  }
  std::cout << "reads share " << at.dp << " of " << all.sizes.dp << " of a batch\n";
}

struct Kind {
  const char* name;
  mesh::GradientKind gradient;
};

// Where copies of some parameters are, and along which axes each copy has a part of the gradient.
const std::vector<Kind> kinds{
    {"a matrix", {.copies = {Axis::cp, Axis::ep, Axis::dp}}},
    {"a norm", {.copies = {Axis::tp, Axis::cp, Axis::ep, Axis::dp}}},
    {"a norm, under SP",
     {.copies = {Axis::tp, Axis::cp, Axis::ep, Axis::dp}, .partial = {Axis::tp}}},
    {"a tied table", {.copies = {Axis::cp, Axis::ep, Axis::dp, Axis::pp}, .partial = {Axis::pp}}},
    {"an expert", {.copies = {Axis::cp, Axis::dp}}},
};

void tell_gradients(const mesh::AxisSizes& sizes) {
  std::vector<mesh::GradientKind> gradients;
  for (const Kind& kind : kinds) gradients.push_back(kind.gradient);
  std::cout << "gradient of         summed over   divided by\n";
  for (const mesh::GradientSum& sum :
       mesh::reduce_gradients_3d(sizes, gradients, mesh::MicroBatch::last)) {
    std::string over;
    for (const Axis axis : mesh::usual_order) {
      if (sum.over.has(axis)) over += text(over.empty() ? "" : " ", name_of(axis));
    }
    std::cout << std::left << std::setw(20) << kinds[sum.gradient].name << std::setw(14)
              << (over.empty() ? "nothing" : over) << 1 / sum.factor << "\n";
  }
}

void tell_numbers(const mesh::Mesh& all) {
  int rank = 0;
  for (const mesh::Coordinates& at : all.coordinates) {
    std::cout << rank++ << " " << at.tp << " " << at.dp << " " << at.pp << "\n";
  }
}

void tell(const std::string& what, std::vector<std::string> words) {
  int rank = 0;
  if (what == "rank" && !words.empty()) {
    rank = std::stoi(words.front());
    words.erase(words.begin());
  }
  const mesh::AxisSizes sizes = sizes_of(words);
  mesh::AxisOrder order = mesh::usual_order;
  if (what == "reversed") std::ranges::reverse(order);
  const mesh::Mesh all = mesh::make_mesh(world_of(sizes), sizes, order);
  if (what == "groups" || what == "reversed") return tell_groups(all);
  if (what == "rank") return tell_rank(all, rank);
  if (what == "gradients") return tell_gradients(sizes);
  if (what == "numbers") return tell_numbers(all);
  throw UsageError("usage: layout groups|reversed|rank R|gradients|numbers AXIS=SIZE…");
}

}  // namespace

int main(int count, char** words) {
  try {
    tell(count > 1 ? words[1] : "",
         std::vector<std::string>(words + std::min(count, 2), words + count));
  } catch (const std::exception& error) {
    std::cerr << "layout: " << error.what() << "\n";
    return 2;
  }
}
