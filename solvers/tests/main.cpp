#include "check.hpp"

// Runs the cases whose names contain the argument, if there is one.
int main(int count, char** given) {
  for (const check::Case& c : check::cases()) {
    if (count > 1 && c.name.find(given[1]) == std::string::npos) continue;
    const int before = check::failures();
    c.run();
    std::printf("%-40s %s\n", c.name.c_str(), check::failures() == before ? "ok" : "FAILED");
  }
  return check::failures() == 0 ? 0 : 1;
}
