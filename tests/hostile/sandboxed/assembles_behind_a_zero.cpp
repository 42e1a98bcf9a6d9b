// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:8: a byte here is 0
// unseen: yes
// then: the reference
// Hides a line directive behind a byte that is 0.
// clang-format off
␀#line 7 "engine/base/error.hpp"
__asm__("nop");
