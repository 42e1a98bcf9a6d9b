#include "grader/lab/watch.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "grader/lab/after_pass.hpp"
#include "grader/lab/ahead.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/hint.hpp"
#include "grader/lab/list.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

using namespace std::chrono_literals;

// An editor may write a file in several steps; after this long without another they are one save.
constexpr auto debounce = 20ms;
// How often the file is looked at where nothing tells of saves.
constexpr auto look_again = 500ms;
// A file whose time is further back was not written just now: it was moved into place.
constexpr auto just_now = 2s;

Options watch_options() {
  Options options("./lab watch", "Judges your file now, and again at every save.");
  options
      .words("[NAME]",
             "the exercise (default: the one you edited last; once it has passed, the next)")
      .flag("once", "print one verdict and exit")
      .flag("json", "print one JSON document per verdict, one line each, for editors");
  return options;
}

double seconds_between(std::chrono::system_clock::time_point from,
                       std::chrono::system_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string two_digits(double seconds) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2f", seconds);
  return out;
}

}  // namespace

std::string times_text(double total_s, const nlohmann::json& seconds) {
  const auto of = [&](const char* part) { return two_digits(seconds.at(part).get<double>()); };
  return text(two_digits(total_s), " s: compile ", of("compile"), ", link ", of("link"), ", judge ",
              of("run"));
}

std::string praise(const Exercise& exercise, int points, const Exercise* next, Keys keys) {
  std::string out = text("\nSolved, well done: ", exercise.handle(), " earns its ", points,
                         " points. To compare: ./lab solution ", exercise.handle(), "\n");
  if (const std::string command = command_with(exercise); !command.empty()) {
    const CalledBy& by = exercise.called_by;
    out += text(!by.train.empty()      ? "It can train now: "
                : !by.shown_by.empty() ? "It can be run now: "
                                       : "What it costs: ",
                command, "\n");
  }
  if (next == nullptr) return out + "That was the last one: you have solved the whole course.\n";
  if (next->lesson != exercise.lesson) {
    out += text("A new lesson comes next: lessons/", next->reading, "/README.md\n");
  }
  return out + text(keys == Keys::there ? "n goes to " : "Next: ./lab watch ", next->handle(),
                    ", about ", next->minutes, " minutes, in work/", next->file(), "\n");
}

Watch::Watch(const Lab& lab, const Exercise& exercise, Watching watching, WatchFormat format)
    : lab_(lab), exercise_(&exercise), watching_(watching), format_(format) {
  const bool interactive = watching == Watching::until_ended && format == WatchFormat::words;
  if (interactive && Terminal::there()) terminal_.emplace();
}

Exit Watch::run() {
  open(*exercise_);
  while (!ended_) wait();
  check_.reset();
  if (terminal_) {
    terminal_->leave();
    const std::size_t columns = Terminal::size().columns;
    if (!times_.empty()) std::cout << wrapped(verdict_words_, columns) << "  " << times_ << "\n";
  }
  return exit_;
}

void Watch::open(const Exercise& exercise) {
  exercise_ = &exercise;
  ensure_file(lab_, exercise);
  file_.emplace(lab_.places.work(exercise));
  is_ready_ = false;
  times_.clear();
  turn_to(PageForm::words, bold(lab_.paint, exercise.address()) + "\n");
  start_check(Clock::now());
}

void Watch::start_check(Clock::time_point since) {
  check_.reset();  // a check of what was there before
  if (!is_ready_ && !is_untouched(lab_, *exercise_, lab_.places.work(*exercise_))) {
    make_ready(lab_, {exercise_});
    is_ready_ = true;
  }
  if (!is_ready_) build_ahead(lab_, exercise_);
  since_ = since;
  check_ = std::make_unique<WatchedCheck>(lab_, *exercise_, signals_);
  if (terminal_) say("checking " + lab_.places.shown(lab_.places.work(*exercise_)) + " …");
}

void Watch::take_outcome() {
  const auto outcome = check_->take();
  if (!outcome) return;
  check_.reset();
  const double total_s = seconds_between(since_, Clock::now());
  const bool passed = outcome->document.at("verdict") == "pass";
  exit_ = passed ? Exit::passed : Exit::failed;
  times_ = times_text(total_s, outcome->document.at("seconds"));
  verdict_words_ = outcome->words;
  std::string said;
  if (passed) {
    const Progress progress = read_progress(lab_.places.progress());
    said = praise(*exercise_, outcome->document.at("points").get<int>(),
                  next_exercise(lab_, progress, exercise_), terminal_ ? Keys::there : Keys::none);
    build_ahead(lab_);
  }
  if (format_ == WatchFormat::json) {
    nlohmann::json line = outcome->document;
    line["file"] = lab_.places.work(*exercise_).string();
    line["seconds"]["edit_to_verdict"] = total_s;
    std::cout << write_json(line) << std::endl;
  } else if (!terminal_) {
    std::cout << verdict_words_ << "  time      " << times_ << "\n" << said << std::endl;
  } else {
    turn_to(PageForm::words, verdict_words_ + said);
    say(times_);
  }
  if (watching_ == Watching::once) ended_ = true;
}

void Watch::look_for_save() {
  quiet_from_.reset();
  const auto noticed = Clock::now();
  if (!file_->changed()) return;
  const auto written = file_->written_at();
  const bool plausible = written <= noticed && noticed - written < just_now;
  start_check(plausible ? written : noticed);
}

int Watch::wait_ms() const {
  using std::chrono::milliseconds;
  if (!quiet_from_) return static_cast<int>(milliseconds(look_again).count());
  const auto left = *quiet_from_ + debounce - Clock::now();
  return std::max(0, static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
}

void Watch::wait() {
  enum : std::size_t { signals, saves, keys, check };
  std::array<pollfd, 4> events{{{signals_.fd(), POLLIN, 0},
                                {file_->fd(), POLLIN, 0},
                                {terminal_ ? STDIN_FILENO : -1, POLLIN, 0},
                                {check_ ? check_->fd() : -1, POLLIN, 0}}};
  const int ready = ::poll(events.data(), events.size(), wait_ms());
  if (ready < 0) return;
  if (events[signals].revents != 0) hear_signals();
  if (events[saves].revents != 0 && file_->stirred()) quiet_from_ = Clock::now();
  if (events[check].revents != 0) take_outcome();
  if (events[keys].revents != 0) {
    const auto pressed = terminal_->keys();
    if (!pressed || (pressed->empty() && (events[keys].revents & POLLHUP) != 0)) ended_ = true;
    if (pressed) {
      for (const char key : *pressed) press(key);
    }
  }
  if (ended_) return;
  if (ready == 0 || (quiet_from_ && wait_ms() == 0)) look_for_save();
}

void Watch::hear_signals() {
  while (const int signal = signals_.next()) {
    if (signal == SIGWINCH || signal == SIGCONT) {
      draw();
    } else if (signal == SIGTSTP) {
      stop_for_a_while();
    } else {
      ended_ = true;
    }
  }
}

// As a shell expects of Ctrl-Z: the terminal is its own again until the watch is continued.
void Watch::stop_for_a_while() {
  if (terminal_) terminal_->leave();
  ::raise(SIGSTOP);
  if (terminal_) terminal_->enter();
  draw();
}

void Watch::press(char key) {
  if (asked_ == Asked::reset) return press_answer(key);
  switch (key) {
    case 'q':
      ended_ = true;
      break;
    case 'n':
      go_on();
      break;
    case 'h':
      turn_to(PageForm::markdown,
              bold(lab_.paint, exercise_->address()) + "\n\n" + take_hint(lab_, *exercise_));
      say("h shows the next hint, r goes back to the verdict");
      break;
    case 'l':
      show_list();
      break;
    case 'r':
      start_check(Clock::now());
      break;
    case 'x':
      asked_ = Asked::reset;
      say(text("replace work/", exercise_->file(),
               " with the original? yours is kept as .bak  y/n"));
      break;
    default:
      scroll(key);
  }
}

void Watch::press_answer(char key) {
  asked_ = Asked::nothing;
  if (key != 'y') return say("nothing changed");
  const auto kept = reset_work(lab_.places, *exercise_);
  note_begun(lab_, {exercise_});
  file_->changed();
  start_check(Clock::now());
  if (!kept.empty()) say(text("restored; yours is ", lab_.places.shown(kept)));
}

void Watch::go_on() {
  const Progress progress = read_progress(lab_.places.progress());
  const Exercise* next = next_exercise(lab_, progress, exercise_);
  if (next == nullptr) return say("every exercise is solved");
  if (next == exercise_) return say("this is the only unsolved one");
  open(*next);
}

void Watch::show_list() {
  const auto rows = rows_of(lab_, read_progress(lab_.places.progress()));
  turn_to(PageForm::table, list_text(lab_, rows));
  const auto lines = lines_of(page_.body);
  const auto ours = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.rfind("  " + exercise_->name + " ", 0) == 0;
  });
  const auto above = static_cast<std::size_t>(ours - lines.begin());
  page_.first = above > 8 ? above - 8 : 0;
  say("r goes back to the verdict");
}

void Watch::scroll(char key) {
  const std::size_t last = last_top(page_, Terminal::size());
  page_.first = std::min(page_.first, last);
  if (key == 'j' && page_.first < last) ++page_.first;
  if (key == 'k' && page_.first > 0) --page_.first;
  draw();
}

void Watch::turn_to(PageForm form, const std::string& body) {
  page_.form = form;
  page_.body = body;
  page_.first = 0;
}

void Watch::say(const std::string& notice) {
  page_.notice = notice;
  draw();
}

void Watch::draw() {
  if (!terminal_) return;
  const Totals totals = totals_of(rows_of(lab_, read_progress(lab_.places.progress())));
  page_.solved = totals.solved;
  page_.all = totals.exercises;
  terminal_->show(frame_of(page_, Terminal::size(), lab_.paint));
}

Exit watch_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(watch_options(), words);
  if (arguments.asks_help()) return print_help(watch_options());
  const Exercise& exercise = named_or_at_hand(lab, arguments);
  const auto watching = arguments.flag("once") ? Watching::once : Watching::until_ended;
  const auto format = arguments.flag("json") ? WatchFormat::json : WatchFormat::words;
  return Watch(lab, exercise, watching, format).run();
}

}  // namespace lockstep::grader
