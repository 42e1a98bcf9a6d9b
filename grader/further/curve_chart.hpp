// Two curves as lines of text, for a terminal of any width.
#pragma once

#include <string>
#include <vector>

namespace lockstep::grader {

struct Curve {
  char mark;                   // one character a point
  std::vector<double> values;  // at 1, 2, 3, …; those that are not finite are left out
};

// `rows` lines of at most `columns` characters, then an axis. Each column is the mean of the values
// that fall into it; '#' where both curves have a point. The scale is logarithmic when all values
// are positive and span more than a factor of ten.
//   Returns  "" when no value is finite
std::string chart_of(const Curve& first, const Curve& second, std::size_t columns,
                     std::size_t rows);

}  // namespace lockstep::grader
