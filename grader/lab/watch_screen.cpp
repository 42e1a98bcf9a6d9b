#include "grader/lab/watch_screen.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t rows_below = 3;  // progress, notice, keys

std::size_t rows_for_page(ScreenSize screen) {
  return screen.rows > rows_below + 1 ? screen.rows - rows_below - 1 : 1;
}

std::string repeated(const char* letter, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += letter;
  return all;
}

std::string keys_line(std::size_t columns, Paint paint) {
  constexpr std::pair<const char*, const char*> keys[] = {{"n", "next"},  {"h", "hint"},
                                                          {"l", "list"},  {"r", "run again"},
                                                          {"x", "reset"}, {"q", "quit"}};
  std::string line;
  std::size_t taken = 0;
  for (const auto& [key, meaning] : keys) {
    const std::size_t needs = std::string(key).size() + std::string(meaning).size() + 4;
    if (taken + needs > columns) break;
    line += bold(paint, key) + " " + meaning + "   ";
    taken += needs;
  }
  return line;
}

}  // namespace

std::string bar(int done, int all, std::size_t columns, Paint paint) {
  const std::size_t full =
      all == 0 ? 0 : columns * static_cast<std::size_t>(done) / static_cast<std::size_t>(all);
  return green(paint, repeated("━", full)) + faint(paint, repeated("─", columns - full));
}

std::string progress_line(int solved, int all, std::size_t columns, Paint paint) {
  const std::string words = text("  ", solved, " of ", all, " solved");
  if (columns < words.size() + 4) return words.substr(2);
  return bar(solved, all, std::min<std::size_t>(columns - words.size(), 60), paint) + words;
}

std::vector<std::string> lines_of_page(const WatchPage& page, std::size_t columns) {
  switch (page.form) {
    case PageForm::words:
      return lines_of(wrapped(page.body, columns));
    case PageForm::markdown:
      return lines_of(reflowed(page.body, columns));
    case PageForm::table:
      break;
  }
  return lines_of(page.body);
}

std::size_t last_top(const WatchPage& page, ScreenSize screen) {
  const std::size_t lines = lines_of_page(page, screen.columns).size();
  const std::size_t rows = rows_for_page(screen);
  return lines > rows ? lines - rows + 1 : 0;  // one row says that there is more
}

std::string frame_of(const WatchPage& page, ScreenSize screen, Paint paint) {
  const auto lines = lines_of_page(page, screen.columns);
  const std::size_t rows = rows_for_page(screen);
  const std::size_t top = std::min(page.first, last_top(page, screen));
  const bool all_fit = lines.size() <= rows;
  const std::size_t end = all_fit ? lines.size() : std::min(top + rows - 1, lines.size());
  // A line is cleared first: behind its last column there is nothing left to clear.
  const std::string clear = "\x1b[2K", end_line = "\x1b[0m\r\n";
  std::string frame = "\x1b[H";
  for (std::size_t i = top; i < end; ++i) frame += clear + lines[i] + end_line;
  if (!all_fit) {
    const std::size_t left = lines.size() - end;
    frame += clear +
             faint(paint, left > 0 ? text("… ", left, " more lines: j and k, or the arrows")
                                   : "… k goes back up") +
             end_line;
  }
  frame += "\x1b[J";
  const std::size_t below = screen.rows > rows_below ? screen.rows - rows_below + 1 : 1;
  frame += text("\x1b[", below, ";1H");
  frame += clear + progress_line(page.solved, page.all, screen.columns, paint) + end_line;
  frame += clear + page.notice + end_line;
  frame += clear + keys_line(screen.columns, paint);
  return frame;
}

}  // namespace lockstep::grader
