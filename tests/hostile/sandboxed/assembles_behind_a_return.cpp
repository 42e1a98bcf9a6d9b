// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:8: a carriage return stands here without a line feed
// unseen: yes
// then: the reference
// Hides a line directive behind a carriage return.
// clang-format off
␍#line 7 "engine/base/error.hpp"
__asm__("nop");
