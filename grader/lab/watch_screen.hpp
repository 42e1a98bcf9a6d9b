// The screen of ./lab watch: a page, and below it how far the student is and which keys there are.
// Pure functions.
#pragma once

#include <string>

#include "grader/lab/lab.hpp"
#include "grader/lab/terminal.hpp"

namespace lockstep::grader {

// How the lines of a page suit a terminal's width: broken at it, joined and broken, or cut.
enum class PageForm : unsigned char { words, markdown, table };

struct WatchPage {
  std::string body;
  PageForm form = PageForm::words;
  std::string notice;       // the line above the keys: "checking …", a question, the last times
  int solved = 0, all = 0;  // exercises of the course
  std::size_t first = 0;    // the line of the page that is on top
};

// The page's lines when it is that wide.
std::vector<std::string> lines_of_page(const WatchPage& page, std::size_t columns);

// The last sensible value of `first`: the page's end is then on the screen.
std::size_t last_top(const WatchPage& page, ScreenSize screen);

// The bytes that draw it, from whatever was on the screen before.
std::string frame_of(const WatchPage& page, ScreenSize screen, Paint paint);

// "━━━━━───────": how much of something is done.
std::string bar(int done, int all, std::size_t columns, Paint paint);

// "━━━━━───────  5 of 39 solved", at most that wide.
std::string progress_line(int solved, int all, std::size_t columns, Paint paint);

}  // namespace lockstep::grader
