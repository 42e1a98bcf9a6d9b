// Points and lines on two logarithmic axes, as SVG: times of messages over their sizes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lockstep::bench {

struct Series {
  std::string name;
  std::string colour;  // as CSS names it
  enum class Drawn : unsigned char { points, line } drawn = Drawn::points;
  std::vector<std::pair<double, double>> values;  // both above 0
};

// Bytes along the bottom, seconds up the side, a legend with every name at the right. Light and
// dark browsers show it alike: it has a background of its own.
//   Throws  ContractError when there is no value, or one that is not above 0
std::string log_plot(const std::string& title, const std::vector<Series>& all);

}  // namespace lockstep::bench
