// Catch2 under its name in version 2 (Debian 12) and 3 (Ubuntu 24.04).
#pragma once

#include <string>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
namespace lockstep::test {
using Catch::Approx;
inline auto contains(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
using Approx = Catch::Approx;
}  // namespace lockstep::test
#else
#include <catch2/catch.hpp>
namespace lockstep::test {
using ::Approx;
inline auto contains(const std::string& part) { return Catch::Contains(part); }
using Approx = ::Approx;
}  // namespace lockstep::test
#endif
