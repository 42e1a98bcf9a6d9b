// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Does nothing wrong: asm stands in comments and texts, and so do line markers.
/*
# 1 "asm.hpp" 1
#line 7 "asm.hpp"
*/
#include <cstdio>
#define SECTION(name) section_##name
namespace {
[[maybe_unused]] const char* const said = "asm(\"nop\")";
[[maybe_unused]] const char* const raw = R"(__asm__ # 3)";
[[maybe_unused]] int SECTION(one)(const char* alias) { return std::puts(alias) + EOF; }
}  // namespace
