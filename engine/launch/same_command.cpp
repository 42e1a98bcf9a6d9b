// Keys: here/<rank>, when a rank has come; lines, of rank 0; differ/<rank>, the sentence of a rank
// that differs; compared/<rank>, when a rank has looked; told/<rank>, when it has read why it
// fails.
#include "engine/launch/same_command.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::launch {
namespace {

// A number in its shortest digits; anything else, and what has digits alone, as it is.
std::string as_number(const std::string& typed) {
  char* end = nullptr;
  const double number = std::strtod(typed.c_str(), &end);
  const bool digits = typed.find_first_not_of("0123456789") == std::string::npos;
  if (digits || *end != '\0') return typed;
  char shortest[32];
  return {shortest, std::to_chars(shortest, shortest + sizeof shortest, number).ptr};
}

std::vector<std::string> lines_in(const std::string& all) {
  std::istringstream words(all);
  std::vector<std::string> lines;
  for (std::string line; std::getline(words, line);) lines.push_back(line);
  return lines;
}

// This rank has come that far, and so have the others when it returns.
void meet(comm::Store& store, const char* where, int rank, int size, double timeout_s) {
  std::vector<std::string> keys;
  for (int other = 0; other < size; ++other) keys.push_back(text(where, "/", other));
  store.set(keys[static_cast<std::size_t>(rank)], "");
  try {
    store.wait(keys, timeout_s);
  } catch (const CommError&) {
    std::vector<int> missing;
    for (int other = 0; other < size; ++other) {
      if (!store.check(keys[static_cast<std::size_t>(other)])) missing.push_back(other);
    }
    if (!missing.empty()) throw comm::RanksMissing(std::move(missing), size, timeout_s);
    throw;
  }
}

// The lines that the other side lacks: "--lr 0.1 and --steps 6".
std::string only_in(std::span<const std::string> lines, std::span<const std::string> other) {
  std::string all;
  for (const std::string& line : lines) {
    if (std::ranges::find(other, line) == other.end()) all += (all.empty() ? "" : " and ") + line;
  }
  return all.empty() ? "none of these" : all;  // of programs that know other options
}

}  // namespace

std::vector<std::string> shared_options(const Arguments& arguments,
                                        std::span<const std::string> names) {
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    const Shared shared = arguments.shared(name);
    if (shared == Shared::nothing) continue;
    const std::string value = arguments.value(name);
    const bool has = !value.empty() && value != "false";
    const bool whole = has && shared == Shared::value && value != "true";
    lines.push_back((has ? "--" : "no --") + name + (whole ? " " + as_number(value) : ""));
  }
  return lines;
}

void check_same_command(comm::Store& store, int rank, int size, std::span<const std::string> lines,
                        double timeout_s) {
  if (size == 1) return;
  const auto keys = comm::with_prefix(store, "same_command");
  if (rank == 0) {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    keys->set("lines", all);
  }
  meet(*keys, "here", rank, size, timeout_s);
  if (const auto first = lines_in(keys->get("lines")); !std::ranges::equal(first, lines)) {
    keys->set(text("differ/", rank),
              text("the ranks of a run need the same options: rank 0 has ", only_in(first, lines),
                   ", rank ", rank, " has ", only_in(lines, first),
                   "; start every rank with the same command"));
  }
  meet(*keys, "compared", rank, size, timeout_s);
  if (keys->count_keys("differ/") == 0) return;
  int lowest = 1;
  while (!keys->check(text("differ/", lowest))) ++lowest;
  const std::string told = keys->get(text("differ/", lowest));
  meet(*keys, "told", rank, size, timeout_s);  // a rank that ends is followed by the end of all
  throw UsageError(told);
}

std::unique_ptr<World> join_alike(const Lookup& lookup, const Arguments& arguments,
                                  std::span<const std::string> names, double timeout_s) try {
  auto world = join_world(lookup);
  const int size = world->environment.world_size;
  auto lines = shared_options(arguments, names);
  lines.push_back("--ranks " + (arguments.given("ranks") ? arguments.get("ranks") : text(size)));
  try {
    check_same_command(*world->store, world->environment.rank, size, lines, timeout_s);
  } catch (const UsageError&) {
    world->leave();
    throw;
  }
  return world;
} catch (const CommError& error) {
  // Whoever is waited for may not exist: then the variables that speak of it are left over.
  throw CommError(error.what() + told_of_leftovers(lookup));
}

}  // namespace lockstep::launch
