// exercise: scale_learning_rate
// verdict: compile error
// says: asm is refused
// then: the reference
// Says that its line for the assembler stands in another file.
%:/* */line 7 "engine/base/error.hpp"
__asm__("nop");
