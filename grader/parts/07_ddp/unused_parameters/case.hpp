// The case format of unused_parameters, shared by adapter and exam.
#pragma once

#include "grader/play/bucket_plan.hpp"
#include "grader/play/driven_play.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// One pass of a rank.
struct UnusedPassCase {
  std::uint8_t takes = 1;            // every grad is taken away first, as by zero_grad
  std::vector<Bytes> before;         // what an unreduced pass adds then; empty: nothing
  std::vector<std::uint8_t> used;    // by this rank's backward
  std::vector<Bytes> made;           // the gradients that it makes
  std::vector<std::uint32_t> order;  // in which they come
  double begins_after_s = 0;         // since the pass before
  double gap_s = 20e-6;              // what a gradient takes
};

struct UnusedCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  Gradients parameters{};  // none of which has a gradient yet
  collectives::BucketPlan plan{};
  std::vector<UnusedPassCase> passes;
  std::uint8_t bare = 0;  // the reducer that the part is given does nothing and waits for nothing
};

struct UnusedReport {
  std::vector<GradientReports> after;  // each pass
};

template <typename Archive>
void fields(Archive& archive, UnusedPassCase& pass) {
  archive(pass.takes, pass.before, pass.used, pass.made, pass.order, pass.begins_after_s,
          pass.gap_s);
}
template <typename Archive>
void fields(Archive& archive, UnusedCase& c) {
  archive(c.group, c.peer, c.parameters, c.plan, c.passes, c.bare);
}
template <typename Archive>
void fields(Archive& archive, UnusedReport& report) {
  archive(report.after);
}

}  // namespace lockstep::grader
