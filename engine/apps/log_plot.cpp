#include "engine/apps/log_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "engine/base/error.hpp"

namespace lockstep::bench {
namespace {

constexpr double left = 76, top = 44, width = 600, height = 380, legend = 290;

std::string with_prefix(double value, const char* unit) {
  static constexpr std::pair<double, const char*> prefixes[]{
      {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}};
  for (const auto& [factor, prefix] : prefixes) {
    if (value < factor * 0.999) continue;
    char out[32];
    std::snprintf(out, sizeof out, "%.3g %s%s", value / factor, prefix, unit);
    return out;
  }
  return "0";
}

// One axis: powers of ten around the values.
struct PlotAxis {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void round_out() {
    low = std::pow(10, std::floor(std::log10(low)));
    high = std::pow(10, std::ceil(std::log10(high)));
    if (high <= low) high = 10 * low;
  }
  double share(double value) const { return std::log(value / low) / std::log(high / low); }
};

std::string number(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.1f", value);
  return out;
}

std::string label(double x, double y, const char* anchor, const std::string& words) {
  return text("<text x=\"", number(x), "\" y=\"", number(y), "\" text-anchor=\"", anchor, "\">",
              words, "</text>\n");
}

std::string grid(const PlotAxis& across, const PlotAxis& up) {
  std::string out;
  for (double power = across.low; power <= across.high * 1.001; power *= 10) {
    const double x = left + width * across.share(power);
    out += text("<path d=\"M", number(x), " ", number(top), "v", number(height),
                "\" stroke=\"#ddd\"/>\n");
    out += label(x, top + height + 18, "middle", with_prefix(power, "B"));
  }
  for (double power = up.low; power <= up.high * 1.001; power *= 10) {
    const double y = top + height * (1 - up.share(power));
    out += text("<path d=\"M", number(left), " ", number(y), "h", number(width),
                "\" stroke=\"#ddd\"/>\n");
    out += label(left - 8, y + 4, "end", with_prefix(power, "s"));
  }
  return out;
}

std::string drawn(const Series& series, const PlotAxis& across, const PlotAxis& up) {
  std::string out, path;
  for (const auto& [value, seconds] : series.values) {
    const std::string x = number(left + width * across.share(value));
    const std::string y = number(top + height * (1 - up.share(seconds)));
    if (series.drawn == Series::Drawn::points) {
      out +=
          text("<circle cx=\"", x, "\" cy=\"", y, "\" r=\"3.5\" fill=\"", series.colour, "\"/>\n");
    } else {
      path += text(path.empty() ? "M" : "L", x, " ", y);
    }
  }
  if (path.empty()) return out;
  return text("<path d=\"", path, "\" fill=\"none\" stroke=\"", series.colour,
              "\" stroke-width=\"1.5\"/>\n");
}

}  // namespace

std::string log_plot(const std::string& title, const std::vector<Series>& all) {
  PlotAxis across, up;
  std::size_t values = 0;
  for (const Series& series : all) {
    for (const auto& [x, y] : series.values) {
      LOCKSTEP_CHECK(x > 0 && y > 0, "log_plot: ", series.name, " has the point ", x, ", ", y,
                     "; a logarithmic axis needs positive numbers");
      across.take(x);
      up.take(y);
      ++values;
    }
  }
  LOCKSTEP_CHECK(values > 0, "log_plot: nothing to draw for '", title, "'");
  across.round_out();
  up.round_out();

  std::string out = text("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
                         number(left + width + legend), " ", number(top + height + 40),
                         "\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n",
                         "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
  out += label(left, 26, "start", title) + grid(across, up);
  double y = top + 12;
  for (const Series& series : all) {
    out += drawn(series, across, up);
    const bool points = series.drawn == Series::Drawn::points;
    const std::string mark =
        points ? text("<circle cx=\"", number(left + width + 26), "\" cy=\"", number(y - 4),
                      "\" r=\"3.5\" fill=\"", series.colour, "\"/>\n")
               : text("<path d=\"M", number(left + width + 16), " ", number(y - 4),
                      "h20\" stroke=\"", series.colour, "\" stroke-width=\"1.5\"/>\n");
    out += mark + label(left + width + 44, y, "start", series.name);
    y += 22;
  }
  return out + "</svg>\n";
}

}  // namespace lockstep::bench
