// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:8: a byte here is 0
// unseen: yes
// then: the reference
// Splits a line directive by a backslash that is no line's last byte.
// clang-format off
#li\␀
ne 7 "engine/base/error.hpp"
__asm__("nop");
