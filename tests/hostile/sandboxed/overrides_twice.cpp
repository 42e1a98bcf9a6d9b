// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Does nothing wrong: functions of two bases are overridden, for which a compiler writes thunks.
namespace innocent {

struct First {
  virtual ~First();
  int value = 1;
};
struct Second {
  virtual ~Second();
  virtual int twice(int x);
};
struct Both : First, Second {
  ~Both() override;
  int twice(int x) override;
};

First::~First() = default;
Second::~Second() = default;
Both::~Both() = default;
int Second::twice(int x) { return 2 * x; }
int Both::twice(int x) { return x <= 0 ? value : Both::twice(x - 1) + twice(x - 2); }

}  // namespace innocent
