// The points that a late hand-in loses, by the instructor's file:
//
//   deadline = 2026-11-20T23:59:00+01:00
//   loss_per_day = 10          # percent of the points, for each day begun
//   cap = 50                   # percent that is lost at most (100)
//   days_max = 7               # days after which nothing is left (no end)
//   grace_minutes = 15         # of being late without being late (0)
//   [deadlines]                # of a lesson or an exercise that has another
//   05 = 2026-12-04T23:59:00+01:00
//   [extensions]               # of a student, or of a student's lesson or exercise
//   amy = 3                                              # days
//   "bob/ring_all_reduce" = 2026-12-01T12:00:00+01:00    # a moment
//
// A day has 24 hours. When something was handed in is no part of the file: a column of the roster
// says it, or the platform, or the files' own times (hand_in_times.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

struct LatePolicy {
  struct Extension {
    std::optional<std::int64_t> until;  // a moment, if it is later than the deadline
    int days = 0;                       // beyond the deadline
  };
  std::int64_t deadline = 0;
  int zone_minutes = 0;  // the deadline's, also for hand-in times that name none
  int loss_per_day = 0;
  int cap = 100;
  std::optional<int> days_max;
  int grace_minutes = 0;
  std::map<std::string, std::int64_t> deadlines;  // by lesson's folder or exercise's address
  std::map<std::string, Extension> extensions;    // "amy", "amy/05_x" or "amy/05_x/part"
};

//   Throws  UsageError with file, line, key and what is expected there
LatePolicy read_late(const std::filesystem::path& file, const Course& course);

nlohmann::json json_of(const LatePolicy& policy);
LatePolicy late_from(const nlohmann::json& record);

// When a student's file is due, extensions included, in seconds since 1970.
std::int64_t due(const LatePolicy& policy, const std::string& student, const std::string& address);

struct Lateness {
  int days = 0;  // begun; 0: in time
  int loss = 0;  // percent of the points
};
Lateness lateness(const LatePolicy& policy, const std::string& student, const std::string& address,
                  std::int64_t handed_in);

}  // namespace lockstep::grader
