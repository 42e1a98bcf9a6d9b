#include "grader/batch/policy/date_time.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "grader/batch/hand_ins/readable_name.hpp"

namespace lockstep::grader {
namespace {

namespace chrono = std::chrono;

// Takes apart a text from its beginning; once something is missing, nothing more is found.
class DateTimeReader {
 public:
  explicit DateTimeReader(std::string_view rest) : rest_(rest) {}

  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  // A number of `least` to `most` digits.
  std::optional<int> number(std::size_t least, std::size_t most) {
    std::size_t digits = 0;
    int value = 0;
    while (digits < most && digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      value = value * 10 + (rest_[digits++] - '0');
    }
    if (digits < least) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }
  std::string word() {
    std::size_t letters = 0;
    while (letters < rest_.size() && ((rest_[letters] >= 'a' && rest_[letters] <= 'z') ||
                                      (rest_[letters] >= 'A' && rest_[letters] <= 'Z'))) {
      ++letters;
    }
    std::string taken = lower_case(std::string(rest_.substr(0, letters)));
    rest_.remove_prefix(letters);
    return taken;
  }
  void blanks() {
    while (take(" ") || take("\xc2\xa0") || take("\xe2\x80\xaf")) continue;  // also unbreakable
  }
  bool is_over() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

struct CivilTime {
  chrono::year_month_day day;
  int hour = 0, minute = 0, second = 0;
};

std::optional<std::int64_t> seconds_of(const CivilTime& clock, int zone_minutes) {
  if (!clock.day.ok() || clock.hour > 23 || clock.minute > 59 || clock.second > 60) {
    return std::nullopt;
  }
  const std::int64_t days = chrono::sys_days(clock.day).time_since_epoch().count();
  return ((days * 24 + clock.hour) * 60 + clock.minute - zone_minutes) * 60 + clock.second;
}

chrono::year_month_day day_of(int year, int month, int day) {
  return chrono::year(year) / month / day;
}

// ":59" or ":59.861687", which may be left out.
bool take_seconds(DateTimeReader& in, CivilTime& clock) {
  if (!in.take(":")) return true;
  const auto second = in.number(2, 2);
  if (!second) return false;
  clock.second = *second;
  return !in.take(".") || in.number(1, 9).has_value();
}

bool take_clock(DateTimeReader& in, CivilTime& clock) {
  const auto hour = in.number(1, 2);
  if (!hour || !in.take(":")) return false;
  const auto minute = in.number(2, 2);
  if (!minute) return false;
  clock.hour = *hour;
  clock.minute = *minute;
  return take_seconds(in, clock);
}

// The end of a time: a zone or nothing. Anything else is no time.
struct Ending {
  bool is_read = false;
  std::optional<int> zone_minutes = {};
};

Ending ending_at(DateTimeReader& in) {
  in.blanks();
  if (in.is_over()) return {true};
  if (in.take("Z") || in.take("UTC") || in.take("GMT")) return {in.is_over(), 0};
  const bool behind = in.take("-");
  if (!behind && !in.take("+")) return {};
  const auto hours = in.number(2, 2);
  in.take(":");
  const auto minutes = in.number(2, 2);
  if (!hours || *hours > 14 || !minutes || *minutes > 59 || !in.is_over()) return {};
  return {true, (behind ? -1 : 1) * (*hours * 60 + *minutes)};
}

std::optional<DateTime> date_time_from(const CivilTime& clock, DateTimeReader& in,
                                       int zone_minutes) {
  const Ending ending = ending_at(in);
  if (!ending.is_read) return std::nullopt;
  const auto seconds = seconds_of(clock, ending.zone_minutes.value_or(zone_minutes));
  if (!seconds) return std::nullopt;
  return DateTime{*seconds, ending.zone_minutes};
}

std::optional<DateTime> by_standard(const std::string& written, int zone_minutes) {
  DateTimeReader in(written);
  const auto year = in.number(4, 4);
  if (!year || !in.take("-")) return std::nullopt;
  const auto month = in.number(2, 2);
  if (!month || !in.take("-")) return std::nullopt;
  const auto day = in.number(2, 2);
  if (!day || !(in.take("T") || in.take(" "))) return std::nullopt;
  CivilTime clock{day_of(*year, *month, *day)};
  if (!take_clock(in, clock)) return std::nullopt;
  return date_time_from(clock, in, zone_minutes);
}

std::optional<int> month_called(const std::string& word) {
  constexpr std::array<std::string_view, 12> months{
      "january", "february", "march",     "april",   "may",      "june",
      "july",    "august",   "september", "october", "november", "december"};
  for (std::size_t i = 0; i < months.size(); ++i) {
    if (word.size() >= 3 && months[i].starts_with(word)) return static_cast<int>(i) + 1;
  }
  return std::nullopt;
}

std::optional<DateTime> by_moodle(const std::string& written, int zone_minutes) {
  DateTimeReader in(written);
  if (!in.word().empty()) in.take(",");  // the day of the week
  in.blanks();
  const auto day = in.number(1, 2);
  in.blanks();
  const auto month = month_called(in.word());
  in.blanks();
  const auto year = in.number(4, 4);
  if (!day || !month || !year) return std::nullopt;
  in.take(",");
  in.blanks();
  CivilTime clock{day_of(*year, *month, *day)};
  if (!take_clock(in, clock)) return std::nullopt;
  in.blanks();
  const bool noon = in.take("PM") || in.take("pm");
  if (noon || in.take("AM") || in.take("am")) {
    if (clock.hour < 1 || clock.hour > 12) return std::nullopt;
    clock.hour = clock.hour % 12 + (noon ? 12 : 0);
  }
  return date_time_from(clock, in, zone_minutes);
}

}  // namespace

std::optional<DateTime> date_time_in(const std::string& written, int zone_minutes) {
  if (auto moment = by_standard(written, zone_minutes)) return moment;
  return by_moodle(written, zone_minutes);
}

bool is_plausible(const DateTime& moment) {
  constexpr auto since = chrono::sys_seconds(chrono::sys_days(chrono::year(2000) / 1 / 1));
  constexpr auto until = chrono::sys_seconds(chrono::sys_days(chrono::year(2100) / 1 / 1));
  const chrono::sys_seconds then{chrono::seconds(moment.seconds)};
  return since <= then && then < until;
}

std::string written_date_time(std::int64_t seconds, int zone_minutes) {
  const chrono::sys_seconds there{chrono::seconds(seconds + std::int64_t{60} * zone_minutes)};
  const auto midnight = chrono::floor<chrono::days>(there);
  const chrono::year_month_day day(midnight);
  const chrono::hh_mm_ss clock(there - midnight);
  const int zone = zone_minutes < 0 ? -zone_minutes : zone_minutes;
  char out[64];
  std::snprintf(out, sizeof out, "%04d-%02u-%02u %02d:%02d:%02d %c%02d:%02d",
                static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                static_cast<unsigned>(day.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), zone_minutes < 0 ? '-' : '+', zone / 60,
                zone % 60);
  return out;
}

}  // namespace lockstep::grader
