// exercise: scale_learning_rate
// verdict: compile error
// says: asm is refused
// then: the reference
// Writes a whole function into the operand of a call, within a function of the compiler's.
# 5 "hidden.h"
extern "C" double hidden_core(double) asm
# 5 "hidden.h"
    ("hidden_core\n\tjmp hidden_end\nhidden_core:\n\tsqrtsd\t%xmm0, %xmm0\n\tret\n"
     "hidden_end:\n\tcall hidden_core");
double call_hidden_core(double x) { return hidden_core(x) + 1; }
# 12 "work/05_data_parallel/scale_learning_rate.cpp"
