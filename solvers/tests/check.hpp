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
// So many times as many trials as a case says: ODT_SCALE, or once.
inline int scale() {
  const char* text = std::getenv("ODT_SCALE");
  return text ? std::max(1, std::atoi(text)) : 1;
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
