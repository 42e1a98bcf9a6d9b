// exercise: scale_learning_rate
// verdict: compile error
// says: __asm__ is refused
// then: the reference
// Begins a raw text where a number goes on.
#define NOTHING(x)
[[lab::unknown(0x1e+R"(" )]] int hidden_line = 1;
__asm__("nop");
[[maybe_unused]] const char* const end = ")";
