// Moments as platforms and people write them, as seconds since 1970. Pure functions.
//
//   2026-11-20T23:59:00+01:00      with T or a blank, seconds or none, Z, UTC, +01:00 or +0100
//   Friday, 20 November 2026, 11:59 PM       as Moodle's English pages and spreadsheets have it
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::grader {

struct DateTime {
  std::int64_t seconds = 0;         // since 1970, UTC
  std::optional<int> zone_minutes;  // as it was written: how far its clock is ahead of UTC
};

//   zone_minutes   of a moment that is written without a zone
//   Returns        nothing when it is none of the forms above, or no such day exists
std::optional<DateTime> date_time_in(const std::string& written, int zone_minutes = 0);

// A year that a course can have. A date of another year is a slip of the pen: a deadline in the
// year 0 makes every student late, and one in 2926 none.
bool is_plausible(const DateTime& moment);
inline constexpr const char* plausible_years = "a year from 2000 to 2099";

// "2026-11-20 23:59:00 +01:00".
std::string written_date_time(std::int64_t seconds, int zone_minutes);

// The expected form, for messages.
inline constexpr const char* date_time_form = "a time such as 2026-11-20T23:59:00+01:00";

}  // namespace lockstep::grader
