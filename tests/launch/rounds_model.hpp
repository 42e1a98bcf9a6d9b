// The rules of rounds once more, in other words than the coordinator's: who is there, who is busy,
// and one counter of restarts. Tests hold both side by side.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "engine/launch/coordinator.hpp"

namespace lockstep::test {

using launch::Command, launch::Membership, launch::Newcomer;
using Kind = Command::Kind;

// How the ranks of a launcher end.
enum class How : std::uint8_t { well, failed, refused, too_small, spare, saved };

class RulesModel {
 public:
  RulesModel(const Membership& rules, int restarts) : rules_(rules), restarts_left_(restarts) {}

  // What is to come of an event; without a kind, nothing.
  struct Answer {
    std::optional<Kind> kind = std::nullopt;
    int code = 0;
    bool saves = false;
  };

  Answer arrive(int id, const Newcomer& newcomer) {
    all_.push_back(newcomer);
    there_.push_back(id);
    if (state_ == State::gathering) return settle();
    const bool has_place = std::ssize(members_) < rules_.nodes_max;
    if (!has_place || state_ == State::over || (state_ == State::running && ending_)) return {};
    change();
    arrival_ = true;
    return stop(true);
  }
  Answer depart(int id) {
    const bool works = busy_.erase(id) == 1 && std::erase(there_, id) == 1;
    std::erase(there_, id);
    if (state_ == State::over) return {};
    if (state_ == State::gathering) return settle();
    if (works) {
      change();
      left_ = true;
    }
    if (busy_.empty()) return finish();
    return works ? stop(false) : Answer{};
  }
  Answer interrupt(int id) {
    if (state_ == State::over) return {};
    if (id == 0) {
      if (state_ == State::gathering) return over(1);
      fatal_ = true;
      return stop(true);
    }
    std::erase(there_, id);
    if (state_ == State::gathering) return settle();
    if (!busy_.contains(id)) return {};
    change();
    left_ = true;
    return stop(true);
  }
  Answer fail() { return stop(false); }
  Answer end(int id, How how, int needed) {
    busy_.erase(id);
    if (how == How::well) {
      ending_ = true;
    } else {
      how_.push_back(how);
    }
    if (how == How::too_small) needed_now_ = std::max(needed_now_, needed);
    return busy_.empty() ? finish() : Answer{};
  }
  Answer later() { return state_ == State::gathering ? settle() : Answer{}; }

  double now = 0;
  int restarts_left() const { return restarts_left_; }
  int round() const { return round_; }
  const std::vector<int>& there() const { return there_; }
  const std::set<int>& busy() const { return busy_; }
  bool is_over() const { return state_ == State::over; }
  bool stops() const { return state_ == State::stopping; }
  int world() const { return ranks_of(members_); }
  std::optional<double> wakes_at() const {
    if (state_ != State::gathering) return std::nullopt;
    return full_ ? *full_ + rules_.last_call_s : *short_ + rules_.timeout_s;
  }
  // The members that a round has, by node: a number goes to the oldest that wishes for it, and the
  // rest to the others, the oldest first.
  std::vector<int> members() const {
    std::vector<int> by_node(members_.size(), -1), rest = members_;
    by_node[0] = 0;
    std::erase(rest, 0);
    for (std::size_t node = 1; node < by_node.size(); ++node) {
      const auto wished = std::ranges::find_if(
          rest, [&](int id) { return all_[id].wish == static_cast<int>(node); });
      if (wished == rest.end()) continue;
      by_node[node] = *wished;
      rest.erase(wished);
    }
    for (int& node : by_node) {
      if (node >= 0) continue;
      node = rest.front();
      rest.erase(rest.begin());
    }
    return by_node;
  }

 private:
  enum class State : std::uint8_t { gathering, running, stopping, over };

  void change() {
    if (!change_) change_ = now;
  }
  Answer over(int code) {
    state_ = State::over;
    return {Kind::end, code};
  }
  Answer stop(bool saves) {
    const bool again = state_ == State::stopping && saving_ && !saves;
    if (state_ != State::running && !again) return {};
    state_ = State::stopping;
    saving_ = saves;
    return {Kind::stop, 0, saves};
  }
  int ranks_of(const std::vector<int>& ids) const {
    int ranks = 0;
    for (const int id : ids) ranks += all_[static_cast<std::size_t>(id)].ranks;
    return ranks;
  }
  Answer finish() {
    if (arrival_) std::erase(how_, How::saved);
    const auto all_are = [&](std::initializer_list<How> hows) {
      return std::ranges::all_of(how_, [&](How one) { return std::ranges::count(hows, one) > 0; });
    };
    if (fatal_) return over(1);
    if (!arrival_ && !left_ && all_are({How::spare})) return over(how_.empty() ? 0 : 1);
    const bool refused = !left_ && !how_.empty() && all_are({How::refused, How::too_small});
    if (refused && needed_now_ <= world()) return over(1);
    if (refused) {
      needed_ = needed_now_;
    } else if (left_ || !all_are({How::spare})) {
      if (restarts_left_ == 0) return over(1);
      --restarts_left_;
    }
    state_ = State::gathering;
    ++round_;
    full_.reset();
    short_.reset();
    if (!change_) change_ = -1e9;  // the same members: nobody else is waited for
    const Answer next = settle();
    return next.kind ? next : Answer{Kind::wait};
  }
  Answer settle() {
    std::vector<int> chosen = there_;
    if (std::ssize(chosen) > rules_.nodes_max) {
      chosen.resize(static_cast<std::size_t>(rules_.nodes_max));
    }
    if (std::ssize(chosen) < rules_.nodes_min || ranks_of(chosen) < needed_) {
      full_.reset();
      change_.reset();
      if (!short_) short_ = now;
      return now >= *short_ + rules_.timeout_s ? over(1) : Answer{};
    }
    short_.reset();
    if (!full_) full_ = change_.value_or(now);
    if (std::ssize(chosen) < rules_.nodes_max && now < *full_ + rules_.last_call_s) return {};
    state_ = State::running;
    members_ = chosen;
    busy_ = {chosen.begin(), chosen.end()};
    change_.reset();
    how_.clear();
    arrival_ = left_ = ending_ = false;
    needed_now_ = 0;
    return {Kind::begin};
  }

  Membership rules_;
  int restarts_left_;  // the one counter
  State state_ = State::gathering;
  std::vector<Newcomer> all_;
  std::vector<int> there_, members_;
  std::set<int> busy_;
  std::vector<How> how_;
  bool saving_ = false, arrival_ = false, left_ = false, fatal_ = false, ending_ = false;
  int round_ = 0, needed_ = 0, needed_now_ = 0;
  std::optional<double> change_, full_, short_;
};

}  // namespace lockstep::test
