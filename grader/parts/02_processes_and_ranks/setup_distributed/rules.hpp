// The rules for a run of setup_distributed: how and when every step of every rank ended, and what
// the machines saw.
#pragma once

#include "grader/judge/case_runner.hpp"
#include "grader/parts/02_processes_and_ranks/setup_distributed/services.hpp"

namespace lockstep::grader::setup_distributed {

// How much of the part a case asks for. A part that is written in part may stop behind that.
enum class Written : std::uint8_t { variables, group, all };

struct SetupRun {
  // The store that these ranks are told of: a launcher's may be gone.
  enum class Store : std::uint8_t { answers, silent };

  const std::vector<std::vector<SetupStep>>& ranks;  // by rank, by step
  const ServedStore& store_service;
  const MachinesService& machines;
  const Sessions& reports;
  // A variable that makes no sense, by (step, rank), and what is wrong with it.
  const std::map<std::pair<std::uint32_t, int>, std::pair<std::string, std::string>>& damaged;
  Store store = Store::answers;
  Written asks_for = Written::all;
  int lost = -1;  // a rank that is lost while the group of the first step is made
};

// Each rank has the session that the contract says, or the error; in time; and what was opened is
// closed again.
void check_setup(CaseRunner& runner, const Played& played, const SetupRun& run);

}  // namespace lockstep::grader::setup_distributed
