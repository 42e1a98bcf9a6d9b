// The program that is linked with each archive. It is not run.
int main() {}
