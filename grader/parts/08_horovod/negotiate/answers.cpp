#include "grader/parts/08_horovod/negotiate/answers.hpp"

#include <algorithm>

namespace lockstep::grader::negotiate {
namespace {

using horovod::Outlook;
using horovod::Verdict;
using Requests = std::vector<const AskedGradient*>;  // for one name, of the ranks that have it

// Those of rank 0 first, in its order.
std::vector<std::string> names_in(const Round& round) {
  std::vector<std::string> all;
  for (const Brought& brought : round) {
    for (const AskedGradient& one : brought.ready) {
      if (std::ranges::find(all, one.name) == all.end()) all.push_back(one.name);
    }
  }
  return all;
}

Requests requests_for(const Round& round, const std::string& name) {
  Requests found;
  for (const Brought& brought : round) {
    for (const AskedGradient& one : brought.ready) {
      if (one.name == name) found.push_back(&one);
    }
  }
  return found;
}

bool of_one_tensor(const Requests& requests) {
  return std::ranges::all_of(requests, [&](const AskedGradient* one) {
    return one->dtype == requests.front()->dtype && one->shape == requests.front()->shape;
  });
}

}  // namespace

Answers right_answers(const Round& round) {
  Answers all;
  std::vector<std::string> waiting;
  for (const std::string& name : names_in(round)) {
    const Requests requests = requests_for(round, name);
    if (requests.size() < round.size()) {
      waiting.push_back(name);
    } else {
      all.emplace_back(name, of_one_tensor(requests) ? Verdict::reduce : Verdict::refused);
    }
  }
  const bool stuck = all.empty() && std::ranges::all_of(round, [](const Brought& one) {
                       return one.outlook == Outlook::waits;
                     });
  const auto is_late = [&](const AskedGradient* one) {
    return one->waited_s > round[0].stall_limit_s;
  };
  for (const std::string& name : waiting) {
    if (stuck || std::ranges::any_of(requests_for(round, name), is_late)) {
      all.emplace_back(name, Verdict::stalled);
    }
  }
  std::ranges::stable_sort(all, {}, &Answers::value_type::second);
  return all;
}

bool same_answers(const Answers& seen, const Answers& right) {
  const auto free_order = [](Answers answers) {
    const auto rest = std::ranges::find_if(
        answers, [](const auto& answer) { return answer.second != Verdict::reduce; });
    const auto by_verdict = [](const auto& a, const auto& b) {
      return std::pair(a.second, a.first) < std::pair(b.second, b.first);
    };
    // Each section by itself: one that stands in another's place stays there.
    for (auto first = rest; first != answers.end();) {
      const auto last = std::find_if(first, answers.end(),
                                     [&](const auto& one) { return one.second != first->second; });
      std::sort(first, last, by_verdict);
      first = last;
    }
    return answers;
  };
  return free_order(seen) == free_order(right);
}

}  // namespace lockstep::grader::negotiate
