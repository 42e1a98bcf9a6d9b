// Keys: those of the part store_rendezvous; connected/<rank>, and refused, which says why a rank is
// not; failed/<rank>, which holds what that rank was doing, or why it gave the group up; why, the
// reason of the first.
#include "engine/comm/worlds/rendezvous.hpp"

#include <signal.h>

#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::comm {

namespace {

constexpr const char* why_key = "why";
// Before the reason of a rank that gave up, where others have what they were doing.
constexpr char gave_up = '!';

std::vector<std::string> keys_of(const std::string& folder, int size) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < size; ++rank) keys.push_back(text(folder, "/", rank));
  return keys;
}

// Waits for all keys, and returns the ranks whose key is missing.
std::vector<int> missing_of(Store& keys, const std::vector<std::string>& names, double timeout_s) {
  std::vector<int> missing;
  try {
    keys.wait(names, timeout_s);
  } catch (const CommError&) {
    for (std::size_t other = 0; other < names.size(); ++other) {
      if (!keys.check(names[other])) missing.push_back(static_cast<int>(other));
    }
  }
  return missing;
}

// Sets this rank's key first.
std::vector<int> exchange(Store& keys, int rank, const std::vector<std::string>& names,
                          const std::string& value, double timeout_s) {
  keys.set(names[static_cast<std::size_t>(rank)], value);
  return missing_of(keys, names, timeout_s);
}

std::string known_of(Store& keys, int rank, int size, const RankNames& names_of_ranks,
                     const std::string& doing, double wait_s) {
  const auto names = keys_of("failed", size);
  keys.set(names[static_cast<std::size_t>(rank)], doing);
  std::vector<int> silent = missing_of(keys, names, wait_s);
  // Rarely is more than one rank lost. On a busy machine, the others may be slow to learn of it.
  if (silent.size() > 1) silent = missing_of(keys, names, wait_s);
  std::string reasons, others;
  for (int other = 0; other < size; ++other) {
    const std::string& name = names[static_cast<std::size_t>(other)];
    if (other == rank || !keys.check(name)) continue;
    const std::string its = keys.get(name);
    if (its.starts_with(gave_up)) {
      reasons += "; " + its.substr(1);
    } else {
      others +=
          text("; ", names_of_ranks.name(other), " was in ", its == doing ? "the same call" : its);
    }
  }
  if (!silent.empty()) {
    reasons += text("; ", names_of_ranks.list(silent), silent.size() == 1 ? " does" : " do",
                    " not answer: ended, or never made this call; look at the last output there");
  }
  if (reasons.empty()) {
    reasons = "; no rank is lost, so they disagree or one was late: compare the calls";
  }
  return reasons + others;
}

// Adds what the part's error cannot know; empty if the numbers are the same.
std::string missing_in_world(const RankNames& names, const std::vector<int>& missing) {
  std::string globals;
  for (const int rank : missing) {
    const std::string global = names.global_name(rank);
    if (!global.empty()) globals += (globals.empty() ? " (missing: " : ", ") + global;
  }
  return globals.empty() ? globals : globals + ")";
}

}  // namespace

std::vector<Endpoint> meet(Store& keys, int rank, int size, const RankNames& names,
                           const std::string& hostname, const std::string& group,
                           double timeout_s) {
  try {
    return rendezvous(keys, rank, size, {hostname, 0}, 0, timeout_s);
  } catch (const RanksMissing& error) {
    throw CommError(text(names.name(rank), ": the group \"", group,
                         "\" is not whole: ", error.what(), missing_in_world(names, error.ranks)));
  }
}

void shake_hands(Store& keys, int rank, int size, const RankNames& names_of_ranks,
                 const std::string& refusal, const std::string& group, double timeout_s) {
  const auto names = keys_of("connected", size);
  const std::string refused = "refused";
  if (!refusal.empty()) {
    keys.compare_set(refused, "", refusal);  // the first one stays
    keys.set(names[static_cast<std::size_t>(rank)], "");
    throw CommError(refusal);
  }
  const std::vector<int> silent = exchange(keys, rank, names, "", timeout_s);
  const bool whole = !keys.check(refused);
  if (whole && silent.empty()) return;
  const std::string why = whole ? text(names_of_ranks.list(silent), " of ", size,
                                       " did not connect to all others within ", timeout_s,
                                       " s; look at the output there")
                                : keys.get(refused);
  throw CommError(
      text(names_of_ranks.name(rank), ": the group \"", group, "\" is not whole: ", why));
}

std::string diagnosis(Store& keys, int rank, int size, const RankNames& names,
                      const std::string& doing, double wait_s) {
  try {
    return known_of(keys, rank, size, names, doing, wait_s);
  } catch (const Error&) {
    return "; the store is gone too, so the launcher has probably ended";
  }
}

void say_given_up(Store& keys, int rank, const std::string& why) {
  try {
    keys.compare_set(text("failed/", rank), "", gave_up + why);
  } catch (const Error&) {  // whoever asks finds the store gone, too
  }
}

bool any_failed(Store& keys) {
  try {
    return keys.count_keys("failed/") > 0;
  } catch (const Error&) {
    return false;
  }
}

void say_why(Store& keys, const std::string& why) {
  try {
    keys.compare_set(why_key, "", why);
  } catch (const Error&) {
  }
}

std::string why_failed(Store& keys) {
  try {
    return keys.check(why_key) ? keys.get(why_key) : std::string();
  } catch (const Error&) {
    return {};
  }
}

void ignore_broken_pipes() {
  struct sigaction now {};
  if (sigaction(SIGPIPE, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  now.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &now, nullptr);
}

}  // namespace lockstep::comm
