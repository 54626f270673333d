#include "check.hpp"

int main() {
  for (const check::Case& c : check::cases()) {
    const int before = check::failures();
    c.run();
    std::printf("%-40s %s\n", c.name.c_str(), check::failures() == before ? "ok" : "FAILED");
  }
  return check::failures() == 0 ? 0 : 1;
}
