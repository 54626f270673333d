// The least of a test framework: named cases, checks that say where they failed.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace check {

struct Case {
  std::string name;
  std::function<void()> run;
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
inline int& failures() {
  static int count = 0;
  return count;
}
// How many instances to try of those that a case names: ODT_SCALE is the part, one the usual.
// Where one takes long, less than one tries this part of what others try.
inline int trials(int number, double part = 1) {
  const char* text = std::getenv("ODT_SCALE");
  const double scale = text ? std::atof(text) : 1.0;
  return std::max(1, static_cast<int>(number * scale * (scale < 1 ? part : 1)));
}
struct Register {
  Register(const char* name, std::function<void()> run) {
    cases().push_back({name, std::move(run)});
  }
};

}  // namespace check

#define CASE(name)                                                  \
  static void case_##name();                                        \
  static const check::Register register_##name(#name, case_##name); \
  static void case_##name()

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      ++check::failures();                                                         \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                              \
  } while (false)
