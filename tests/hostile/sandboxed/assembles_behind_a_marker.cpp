// exercise: scale_learning_rate
// verdict: compile error
// says: asm is refused
// then: the reference
// Passes its line for the assembler off as a system header's.
# 1 "/usr/include/stdio.h" 1 3
__asm__("nop");
# 8 "work/05_data_parallel/scale_learning_rate.cpp" 2
