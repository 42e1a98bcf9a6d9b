// The two numbers of a link, found from times; what they say of a ring; and the plot of both.
#include "engine/apps/link_fit.hpp"
#include "engine/apps/log_plot.hpp"
#include "engine/base/error.hpp"
#include "engine/collectives/cost.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::bench;

TEST_CASE("a link's fit: times that follow the model give its two numbers back") {
  std::vector<LinkTime> times;
  for (const std::int64_t bytes : {4, 4096, 1 << 20, 16 << 20}) {
    times.push_back({bytes, 7e-6 + static_cast<double>(bytes) / 3e9});
  }
  const LinkFit fit = fit_link(times);
  CHECK(fit.alpha_s == test::Approx(7e-6).epsilon(1e-9));
  CHECK(fit.beta_bytes_s == test::Approx(3e9).epsilon(1e-9));
  CHECK(fit.worst < 1e-9);
}

TEST_CASE("a link's fit: a short message counts as much as a long one") {
  // All off by a tenth, up and down in turns: the fit stays between, for short and long alike.
  std::vector<LinkTime> times;
  double sign = 1;
  for (std::int64_t bytes = 4; bytes <= 16 << 20; bytes *= 4, sign = -sign) {
    times.push_back({bytes, (5e-6 + static_cast<double>(bytes) / 1e9) * (1 + 0.1 * sign)});
  }
  const LinkFit fit = fit_link(times);
  CHECK(fit.alpha_s == test::Approx(5e-6).epsilon(0.1));
  CHECK(fit.beta_bytes_s == test::Approx(1e9).epsilon(0.1));
  CHECK(fit.worst > 0.05);
  CHECK(fit.worst < 0.2);
}

TEST_CASE("a link's fit: points that have no slope are refused") {
  CHECK_THROWS_WITH(fit_link({}), test::contains("no slope"));
  CHECK_THROWS_WITH(fit_link({{8, 1e-6}, {8, 2e-6}}), test::contains("two different sizes"));
  CHECK_THROWS_WITH(fit_link({{8, 1e-6}, {16, 0}}), test::contains("not a measured message"));
}

TEST_CASE("a link's fit: its ring is the one of the cost model") {
  const LinkFit fit{.alpha_s = 4e-6, .beta_bytes_s = 2e9};
  const sim::Link link{.latency_s = 4e-6, .gap_s = 0, .bandwidth_bytes_s = 2e9};
  for (const int ranks : {2, 3, 4, 8, 13}) {
    const std::int64_t count = 1000 * ranks;
    const auto cost = collectives::ring_all_reduce_cost(ranks, count);
    CHECK(ring_seconds(fit, ranks, static_cast<double>(4 * count)) ==
          test::Approx(collectives::seconds(cost.path, link, 4)).epsilon(1e-12));
  }
}

TEST_CASE("a plot: every series is drawn and named, and what has no logarithm is refused") {
  const std::string svg =
      log_plot("t", {{"dots", "red", Series::Drawn::points, {{1, 1e-6}, {1000, 1e-3}}},
                     {"a line", "blue", Series::Drawn::line, {{1, 1e-6}, {1000, 1e-3}}}});
  CHECK_THAT(svg, test::contains(">dots</text>"));
  CHECK_THAT(svg, test::contains(">a line</text>"));
  // The corners of the frame: the smallest value lower left, the largest upper right.
  CHECK_THAT(svg, test::contains("cx=\"76.0\" cy=\"424.0\" r=\"3.5\" fill=\"red\""));
  CHECK_THAT(svg, test::contains("cx=\"676.0\" cy=\"44.0\" r=\"3.5\" fill=\"red\""));
  CHECK_THAT(svg, test::contains("M76.0 424.0L676.0 44.0"));
  CHECK_THAT(svg, test::contains(">1 kB</text>"));
  CHECK_THROWS_WITH(log_plot("t", {{"zero", "red", Series::Drawn::points, {{0, 1}}}}),
                    test::contains("zero has the point 0"));
  CHECK_THROWS_WITH(log_plot("t", {}), test::contains("nothing to draw for 't'"));
}
