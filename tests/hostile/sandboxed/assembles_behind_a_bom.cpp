// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:1: the file begins with a byte-order mark
// unseen: yes
// then: the reference
// Hides a line directive behind a byte-order mark.
// clang-format off
␢#line 7 "engine/base/error.hpp"
__asm__("nop");
