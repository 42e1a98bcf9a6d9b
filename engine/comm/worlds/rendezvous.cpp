// Keys: those of the part store_rendezvous; connected/<rank>, and refused, which says why a rank is
// not; failed/<rank>, which holds what that rank was doing.
#include "engine/comm/worlds/rendezvous.hpp"

#include <signal.h>

#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/ranks.hpp"
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::comm {

namespace {

constexpr double report_wait_s = 0.5;

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

std::string known_of(Store& keys, int rank, int size, const std::string& doing) {
  const auto names = keys_of("failed", size);
  std::vector<int> silent = exchange(keys, rank, names, doing, report_wait_s);
  // Rarely is more than one rank lost. On a busy machine, the others may be slow to learn of it.
  if (silent.size() > 1) silent = missing_of(keys, names, report_wait_s);
  std::string others;
  for (int other = 0; other < size; ++other) {
    const std::string& name = names[static_cast<std::size_t>(other)];
    if (other == rank || !keys.check(name)) continue;
    const std::string its = keys.get(name);
    others += text("; rank ", other, " was in ", its == doing ? "the same call" : its);
  }
  if (silent.empty()) {
    return "; no rank is lost, so they disagree or one was late: compare the calls" + others;
  }
  return text("; ", list_of_ranks(silent), silent.size() == 1 ? " does" : " do",
              " not answer: ended, or never made this call; look at the last output there", others);
}

}  // namespace

std::vector<Endpoint> meet(Store& keys, int rank, int size, const std::string& hostname,
                           const std::string& group, double timeout_s) {
  try {
    return rendezvous(keys, rank, size, {hostname, 0}, 0, timeout_s);
  } catch (const RanksMissing& error) {
    throw CommError(
        text("rank ", rank, ": the group \"", group, "\" is not whole: ", error.what()));
  }
}

void shake_hands(Store& keys, int rank, int size, const std::string& refusal,
                 const std::string& group, double timeout_s) {
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
  const std::string why =
      whole ? text(list_of_ranks(silent), " of ", size, " did not connect to all others within ",
                   timeout_s, " s; look at the output there")
            : keys.get(refused);
  throw CommError(text("rank ", rank, ": the group \"", group, "\" is not whole: ", why));
}

std::string diagnosis(Store& keys, int rank, int size, const std::string& doing) {
  try {
    return known_of(keys, rank, size, doing);
  } catch (const Error&) {
    return "; the store is gone too, so the launcher has probably ended";
  }
}

void ignore_broken_pipes() {
  struct sigaction now {};
  if (sigaction(SIGPIPE, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  now.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &now, nullptr);
}

}  // namespace lockstep::comm
