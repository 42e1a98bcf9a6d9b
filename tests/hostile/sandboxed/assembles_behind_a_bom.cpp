␢#line 7 "engine/base/error.hpp"
// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:1: the file begins with a byte-order mark
// unseen: a byte-order mark
// then: the reference
// Hides a line directive behind a byte-order mark.
__asm__("nop");
