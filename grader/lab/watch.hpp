// ./lab watch: a verdict at each save.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "grader/lab/save_watch.hpp"
#include "grader/lab/terminal.hpp"
#include "grader/lab/watch_screen.hpp"
#include "grader/lab/watched_check.hpp"

namespace lockstep::grader {

// How a watch goes on.
enum class Watching : unsigned char { once, until_ended };
enum class WatchFormat : unsigned char { words, json };

// One exercise at a time: its file, the check that runs, and what the screen says. Without a
// terminal it prints each verdict and hears signals only.
class Watch {
 public:
  Watch(const Lab& lab, const Exercise& exercise, Watching watching, WatchFormat format);

  // Returns how the last verdict was, when a key or a signal ends it.
  Exit run();

 private:
  using Clock = std::chrono::system_clock;
  enum class Asked : unsigned char { nothing, reset };

  void open(const Exercise& exercise);
  void start_check(Clock::time_point since);
  void take_outcome();
  void look_for_save();
  void hear_signals();
  void press(char key);
  void press_answer(char key);
  void wait();
  void go_on();
  void show_list();
  void scroll(char key);
  void turn_to(PageForm form, const std::string& body);
  void draw();
  void say(const std::string& notice);
  void stop_for_a_while();
  int wait_ms() const;

  const Lab& lab_;
  const Exercise* exercise_;
  Watching watching_;
  WatchFormat format_;
  Signals signals_;
  std::optional<Terminal> terminal_;
  std::optional<SaveWatch> file_;
  bool is_ready_ = false;  // what judges this exercise is built
  std::unique_ptr<WatchedCheck> check_;
  Clock::time_point since_{};                    // what the running check is measured from
  std::optional<Clock::time_point> quiet_from_;  // the file stirred then
  WatchPage page_;
  std::string verdict_words_, times_;
  Asked asked_ = Asked::nothing;
  Exit exit_ = Exit::failed;
  bool ended_ = false;
};

// "0.34 s: compile 0.25, link 0.04, judge 0.05"
std::string times_text(double total_s, const nlohmann::json& seconds);

enum class Keys : unsigned char { none, there };

// The sentence after a pass: what was earned, and what comes next (nullptr: nothing).
std::string praise(const Exercise& exercise, int points, const Exercise* next, Keys keys);

}  // namespace lockstep::grader
