// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:7: a byte here is 0
// unseen: a byte that is 0
// then: the reference
// Hides a line directive behind a byte that is 0.
␀#line 7 "engine/base/error.hpp"
__asm__("nop");
