#include "grader/further/curve_chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace lockstep::grader {
namespace {

constexpr std::size_t label_width = 9;  // of the numbers at the left, with the bar

// One value a column; NaN where there is none.
std::vector<double> means_by_column(const Curve& curve, std::size_t length, std::size_t columns) {
  std::vector<double> sums(columns, 0), counts(columns, 0);
  for (std::size_t i = 0; i < curve.values.size(); ++i) {
    if (!std::isfinite(curve.values[i])) continue;
    const std::size_t column = length <= columns ? i : i * columns / length;
    sums[column] += curve.values[i];
    counts[column] += 1;
  }
  for (std::size_t c = 0; c < columns; ++c) sums[c] = counts[c] > 0 ? sums[c] / counts[c] : NAN;
  return sums;
}

// From a value to its row, the topmost is 0.
class Scale {
 public:
  Scale(const std::vector<double>& values, std::size_t rows) : rows_(rows) {
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      low_ = std::min(low_, value);
      high_ = std::max(high_, value);
    }
    logarithmic_ = low_ > 0 && high_ / low_ > 10;
  }
  bool empty() const { return low_ > high_; }
  std::size_t row_of(double value) const {
    const double from = at(low_), to = at(high_);
    const double share = to > from ? (at(value) - from) / (to - from) : 0;
    return rows_ - 1 -
           static_cast<std::size_t>(std::lround(share * static_cast<double>(rows_ - 1)));
  }
  double value_of(std::size_t row) const {
    const double share = 1 - static_cast<double>(row) / static_cast<double>(rows_ - 1);
    const double value = at(low_) + share * (at(high_) - at(low_));
    return logarithmic_ ? std::exp(value) : value;
  }

 private:
  double at(double value) const { return logarithmic_ ? std::log(value) : value; }
  std::size_t rows_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  bool logarithmic_ = false;
};

void put_points(std::vector<std::string>& lines, const std::vector<double>& values, char mark,
                const Scale& scale) {
  for (std::size_t c = 0; c < values.size(); ++c) {
    if (!std::isfinite(values[c])) continue;
    char& place = lines[scale.row_of(values[c])][c];
    place = place == ' ' || place == mark ? mark : '#';
  }
}

}  // namespace

std::string chart_of(const Curve& first, const Curve& second, std::size_t columns,
                     std::size_t rows) {
  const std::size_t length = std::max(first.values.size(), second.values.size());
  if (columns <= label_width || rows < 2 || length == 0) return "";
  const std::size_t width = std::min(columns - label_width, length);
  const auto of_first = means_by_column(first, length, width);
  const auto of_second = means_by_column(second, length, width);
  std::vector<double> all = of_first;
  all.insert(all.end(), of_second.begin(), of_second.end());
  const Scale scale(all, rows);
  if (scale.empty()) return "";

  std::vector<std::string> lines(rows, std::string(width, ' '));
  put_points(lines, of_first, first.mark, scale);
  put_points(lines, of_second, second.mark, scale);
  std::string chart;
  for (std::size_t row = 0; row < rows; ++row) {
    char label[32];
    std::snprintf(label, sizeof label, "%7.3g |", scale.value_of(row));
    lines[row].erase(lines[row].find_last_not_of(' ') + 1);
    chart += label + lines[row] + "\n";
  }
  const std::string last = std::to_string(length);
  const std::size_t between = width > last.size() + 1 ? width - last.size() - 1 : 1;
  chart += std::string(label_width - 1, ' ') + "+" + std::string(width, '-') + "\n";
  chart += std::string(label_width, ' ') + "1" + std::string(between, ' ') + last + "\n";
  return chart;
}

}  // namespace lockstep::grader
