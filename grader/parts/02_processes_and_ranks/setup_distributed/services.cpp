#include "grader/parts/02_processes_and_ranks/setup_distributed/services.hpp"

#include <algorithm>

#include "engine/sim/wire/printable.hpp"

namespace lockstep::grader::setup_distributed {

using Answer = sim::Service::Answer;

const char* name_of(launch::Backend backend) {
  return backend == launch::Backend::nccl ? "nccl" : "gloo";
}

int MachineSet::node_called(const std::string& host, int from) const {
  if (host == "localhost" || host == "127.0.0.1" || host == "::1") return from;
  const auto found = std::find(names.begin(), names.end(), host);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

sim::StoreService& ServedStore::there() const {
  if (!store_) throw Error("this store is no longer served");
  return *store_;
}
std::optional<Answer> ServedStore::serve(const sim::Actor& who, const sim::Request& request,
                                         double now) {
  return there().serve(who, request, now);
}
double ServedStore::deadline_s(const sim::Request& request, double asked_s) const {
  return there().deadline_s(request, asked_s);
}
Answer ServedStore::expire(const sim::Actor& who, const sim::Request& request, double now) {
  return there().expire(who, request, now);
}

MachinesService::MachinesService(MachineSet cluster, ServedStore& store, const Sessions& sessions,
                                 std::optional<Place> launchers, int lost)
    : cluster_(std::move(cluster)),
      store_(store),
      sessions_(sessions),
      launchers_(launchers),
      lost_(lost) {
  if (launchers_) store_.begin();
}

std::optional<Answer> MachinesService::answer(const sim::Actor& who, MachineCall call, double now) {
  const int node = cluster_.node_of.at(static_cast<std::size_t>(who.rank));
  switch (call.kind) {
    case MachineCall::Kind::host:
      host(who.rank, call, now);
      break;
    case MachineCall::Kind::unhost:
      unhost(who.rank, call);
      break;
    case MachineCall::Kind::connect: {
      if (looking_.insert(who.rank).second) {
        connects.push_back({who.rank, now, call});
      }
      const Place place{cluster_.node_called(call.host, node), call.port};
      if (!served.contains(place) && launchers_ != place) return std::nullopt;
      looking_.erase(who.rank);
      break;
    }
    case MachineCall::Kind::group:
      return join(who.rank, call, now);
  }
  return Answer{{}, now};
}

void MachinesService::host(int who, const MachineCall& call, double now) {
  const int here = cluster_.node_of[static_cast<std::size_t>(who)];
  const std::string at = sim::printable(text(call.host, ":", call.port), 80);
  if (cluster_.node_called(call.host, here) != here) {
    throw Error(text("cannot serve a store at ", at, ": this machine does not have that address"));
  }
  const Place place{here, call.port};
  if (served.contains(place) || launchers_ == place) {
    throw Error(text("cannot serve a store at ", at, ": the port is in use"));
  }
  served.insert(place);
  hosted.push_back({who, now, call});
  if (!launchers_) store_.begin();
}

void MachinesService::unhost(int who, const MachineCall& call) {
  served.erase({cluster_.node_of[static_cast<std::size_t>(who)], call.port});
  if (!launchers_ && served.empty()) store_.end();
}

// A rank may give up a step before it asks for a group: groups are counted in each step anew.
std::optional<Answer> MachinesService::join(int who, const MachineCall& call, double now) {
  if (waiting_.insert(who).second) {
    groups.push_back({who, now, call});
    const auto before = joined_.find(who);
    GroupNumber number{sessions_.step_of(who), 0};
    if (before != joined_.end() && before->second.first == number.first) {
      number.second = before->second.second + 1;
    }
    joined_[who] = number;
    if (who == lost_ && number == GroupNumber{0, 0}) {
      waiting_.erase(who);
      throw Error("the network card of this machine has failed");
    }
    gatherings_[number].asked[who] = call;
  }
  const Gathering& gathering = gatherings_.at(joined_.at(who));
  require_agreement(gathering);
  if (std::cmp_less(gathering.asked.size(), call.size)) return std::nullopt;
  waiting_.erase(who);
  return Answer{{}, now};
}

void MachinesService::require_agreement(const Gathering& gathering) {
  const auto& [first, expected] = *gathering.asked.begin();
  for (const auto& [who, call] : gathering.asked) {
    if (call.backend == expected.backend && call.size == expected.size) continue;
    apart = text("rank ", first, " asked for a group of ", expected.size, " over ",
                 name_of(expected.backend), ", rank ", who, " for one of ", call.size, " over ",
                 name_of(call.backend));
    throw Error(*apart);
  }
}

double MachinesService::deadline_s(const sim::Request& request, double asked_s) const {
  return asked_s + call_in(request).timeout_s;
}

Answer MachinesService::expire(const sim::Actor& who, const sim::Request& request, double) {
  const MachineCall call = call_in(request);
  waiting_.erase(who.rank);
  looking_.erase(who.rank);
  if (call.kind == MachineCall::Kind::connect) {
    throw Error(sim::printable(text("no store was served at ", call.host, ":", call.port,
                                    " within ", call.timeout_s, " s"),
                               200));
  }
  throw Error(text("not all ", call.size, " ranks joined the group within ", call.timeout_s, " s"));
}

}  // namespace lockstep::grader::setup_distributed
