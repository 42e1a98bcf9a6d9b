// A student's results as JUnit's XML, for the test reports of GitLab, Jenkins and the like: a suite
// a lesson, a case an exercise. What was not handed in is skipped; what the lab failed at is an
// error; what has not all of its points is a failure.
//   Source  https://docs.gitlab.com/ci/testing/unit_test_reports/
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::grader {

std::string junit_xml(const nlohmann::json& report);

}  // namespace lockstep::grader
