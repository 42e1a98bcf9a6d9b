// A training that saves, as async_checkpoint's exam asks for it, and what the services see of it.
#pragma once

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "engine/base/units.hpp"
#include "grader/exam/lives/storage_service.hpp"
#include "grader/exam/ranks/paper_run.hpp"
#include "grader/exam/ranks/services.hpp"
#include "grader/parts/17_fault_tolerance/async_checkpoint/case.hpp"

namespace lockstep::grader::async_checkpoint {

using checkpoint::PieceKind;
using Kind = SaveReport::Kind;
using Reports = ReportedService<SaveReport>;

// The smallest comes first, and so is the first that is written.
inline std::vector<PaperTensor> tensors(std::int64_t width) {
  return {{PieceKind::buffer, "mean", {5}},
          {PieceKind::parameter, "weight", {width, 3}},
          {PieceKind::optimizer_state, "weight.exp_avg", {width, 3}}};
}

struct Problem {
  Members members{};
  std::string acts{};   // acts_of()
  double call_s = 0.5;  // of a write; a save has three
  std::set<std::int64_t> refused{};
  bool foreign = false;
  bool renames = false;
  bool away = false;
  bool empty = false;  // a state without tensors
  std::int64_t width = 4;
  bool asks_memory = false;
  std::uint64_t schedule_seed = 0;

  std::string description() const {
    return text("training ", acts, " (t a step, s a start, S a start and a step, w a wait)",
                away      ? " of tensors on another device, "
                : renames ? " with another optimizer in each save, "
                : empty   ? " of a state without tensors, "
                          : ", ",
                seconds_text(call_s), " a write");
  }
  PaperRun paper(std::uint64_t salt) const {
    return {empty ? std::vector<PaperTensor>{} : tensors(width),
            {.step = static_cast<std::int64_t>(salt % 10)},
            salt};
  }
  std::int64_t steps() const {
    return std::ranges::count_if(acts, [](char act) { return act == 't' || act == 'S'; });
  }
};

// One run: what was done, and what the services saw.
struct Run {
  Problem p;
  PaperRun paper;
  StepService steps;
  Reports reports{Reports::Caps{.reports = 12}};
  StorageService storage;
  std::optional<std::int64_t> before_bytes{}, peak_bytes{};  // where memory is looked at

  Run(const Problem& problem, std::uint64_t salt)
      : p(problem), paper(p.paper(salt)), steps(paper.service()), storage({.call_s = p.call_s}) {}

  std::vector<sim::Service*> all() { return {&steps, &reports, &storage}; }

  // The steps taken before each start.
  std::vector<std::int64_t> starts() const {
    std::vector<std::int64_t> all;
    std::int64_t taken = 0;
    for (const char act : p.acts) {
      if (act == 's' || act == 'S') all.push_back(taken);
      if (act == 't' || act == 'S') ++taken;
    }
    return all;
  }
  // The file of a tensor of a save.
  std::string file(std::size_t save, std::size_t i) const {
    const PaperTensor& one = paper.tensors()[i];
    return file_of(save, optimizer_of(save, p),
                   {one.kind, one.name, one.shape, whole_of(one.shape), {}});
  }
  // The writes of a save, in the order in which they were served.
  std::vector<StorageEvent> writes_of(std::size_t save) const {
    std::vector<StorageEvent> writes;
    std::ranges::copy_if(storage.log(), std::back_inserter(writes), [&](const StorageEvent& one) {
      return one.kind == StorageCall::Kind::write &&
             checkpoint::folder_of(one.name) == folder_of_save(save);
    });
    return writes;
  }
  const std::vector<Reports::Note>& told(std::int64_t taken) const {
    return reports.told(static_cast<std::uint32_t>(paper.state(taken).step), 0);
  }
};

}  // namespace lockstep::grader::async_checkpoint
