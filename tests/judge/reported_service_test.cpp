// What ranks tell the judge while they play: reports in steps, with bounds, in an order.
#include "grader/exam/ranks/reported_service.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

namespace told {

struct Report {
  static constexpr const char* service = "reports";
  enum class Kind : std::uint8_t { calls, returned };
  Kind kind = Kind::calls;
  std::uint32_t step = 0;
  std::string what{};
};
template <typename Archive>
void fields(Archive& archive, Report& report) {
  archive(report.kind, report.step, report.what);
}
inline void check_fields(Report& report) { check_report(report, Report::Kind::returned); }

using Kind = Report::Kind;
using Reports = ReportedService<Report>;

void send(Reports& reports, int rank, const Bytes& argument, double now = 0) {
  sim::Request request;
  request.op = sim::Op::service;
  request.name = "reports";
  request.data.bytes = argument;
  sim::Actor who;
  who.rank = rank;
  const auto answer = static_cast<sim::Service&>(reports).serve(who, request, now);
  CHECK(answer->at == now);
}
void tell(Reports& reports, int rank, const Report& report, double now = 0) {
  send(reports, rank, fields_to_bytes(report), now);
}

struct Run {
  const Reports& reports;
};
struct Step {
  bool comes = true;
};
struct View : RankInStep<Run> {
  Step its{};

  const Step& mine() const { return its; }
  std::string name() const { return text("rank ", rank); }
};

}  // namespace told

}  // namespace

TEST_CASE("reports: what a rank tells of a step is kept with its time") {
  told::Reports reports({});
  CHECK(reports.name() == "reports");
  told::tell(reports, 1, {.step = 2}, 3);
  told::tell(reports, 1, {told::Kind::returned, 2, "line\none"}, 5);
  told::tell(reports, 0, {.step = 1}, 7);
  const told::Run run{reports};
  const told::View view{{run, 2, 1}};
  CHECK(view.called_s() == 3);
  CHECK(view.outcome_s() == 5);
  CHECK(view.outcome().what == sim::printable("line\none", 300));
  CHECK(reports.told(0, 1).empty());
  CHECK(reports.step_of(0) == 1);
  CHECK(reports.step_of(1) == 2);
  CHECK(reports.step_of(7) == 0);
}

TEST_CASE("reports: a stranger's are refused: malformed, of no kind, of no step, too many") {
  told::Reports reports({.steps = 3, .reports = 2});
  CHECK_THROWS_AS(told::send(reports, 0, Bytes(3)), MalformedMessage);
  const Bytes right = fields_to_bytes(told::Report{});
  Bytes longer = right;
  longer.push_back({});
  CHECK_THROWS_AS(told::send(reports, 0, longer), MalformedMessage);
  CHECK_THROWS_AS(told::tell(reports, 0, {.kind = told::Kind{2}}), MalformedMessage);
  CHECK_THROWS_AS(told::tell(reports, 0, {.step = 4}), Error);
  told::send(reports, 0, right);
  told::send(reports, 0, right);
  CHECK_THROWS_AS(told::send(reports, 0, right), Error);
}

TEST_CASE("reports: who comes tells one of the orders, who does not come nothing") {
  using Order = ReportOrder<told::Kind>;
  told::Reports reports({});
  const told::Run run{reports};
  const Order both{{told::Kind::calls}, {told::Kind::returned}}, one{{told::Kind::calls}};
  const told::View comes{{run, 0, 0}}, stays_away{{run, 0, 0}, {.comes = false}};
  CHECK_NOTHROW(require_reports(stays_away, both));
  CHECK_THROWS_AS(require_reports(comes, both), MalformedMessage);
  told::tell(reports, 0, told::Report{});
  CHECK_NOTHROW(require_reports(comes, both, one));
  CHECK_THROWS_AS(require_reports(comes, both), MalformedMessage);
  CHECK_THROWS_AS(require_reports(stays_away, both, one), MalformedMessage);
}
