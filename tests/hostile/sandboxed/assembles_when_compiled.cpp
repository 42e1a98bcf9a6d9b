// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Shows its line for the assembler to the compiler only, after a pragma that the preprocessor skips.
#pragma GCC push_options
#pragma GCC optimize("O0")
#ifndef __OPTIMIZE__
__asm__("int3");
#error the compiler saw what the preprocessor had not shown
#endif
#pragma GCC pop_options
