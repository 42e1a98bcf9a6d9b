// The instructions that a process computes with: what may be asked for, and what is refused.
#include "engine/launch/cpu_isa.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/launch/lookup.hpp"

using namespace lockstep;
using kernels::Isa;
using launch::cpu_isa;
using lockstep::test::contains;
using lockstep::test::lookup_in;

TEST_CASE("cpu isa: without the variable it is the processor's widest") {
  CHECK(cpu_isa(lookup_in({}), Isa::avx2) == Isa::avx2);
  CHECK(cpu_isa(lookup_in({})) == kernels::widest_isa());
}

TEST_CASE("cpu isa: the variable chooses any that the processor has") {
  for (const Isa widest : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
      if (isa > widest) continue;
      CAPTURE(name_of(widest), name_of(isa));
      CHECK(cpu_isa(lookup_in({{"LOCKSTEP_CPU_ISA", std::string(name_of(isa))}}), widest) == isa);
    }
  }
}

TEST_CASE("cpu isa: an unknown value and one that is too wide are refused in a sentence") {
  for (const std::string typed : {"avx512", "AVX2", "sse", "", "avx2 "}) {
    CAPTURE(typed);
    const auto lookup = lookup_in({{"LOCKSTEP_CPU_ISA", typed}});
    CHECK_THROWS_AS(cpu_isa(lookup, Isa::avx2), UsageError);
    CHECK_THROWS_WITH(cpu_isa(lookup, Isa::avx2),
                      contains("LOCKSTEP_CPU_ISA is \"" + typed + "\"") &&
                          contains("this processor offers baseline, avx2;") &&
                          contains("unset it to use avx2"));
  }
}
