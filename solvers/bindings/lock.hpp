// The interpreter's lock: what takes it, gives it free, and calls Python under it.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

namespace odt_python {

namespace nb = nanobind;

// While the interpreter exits, up to Python 3.13, it ends a thread that asks for its lock by an
// exception. Through frames of C++ that ends the process by `abort`, and its exit code is lost.
// Such a thread waits for the end of the process instead.
[[noreturn]] inline void wait_for_exit() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Holds the interpreter's lock.
class Locked {
 public:
  Locked() noexcept {
    try {
      state_ = PyGILState_Ensure();
    } catch (...) {
      wait_for_exit();
    }
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// Gives the interpreter's lock to other threads meanwhile.
class Unlocked {
 public:
  Unlocked() noexcept : thread_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (...) {
      wait_for_exit();
    }
  }

 private:
  PyThreadState* thread_;
};

// What a Python function answers, in which others may take the lock.
template <class... Given>
nb::object called(nb::handle function, Given&&... given) {
  try {
    return function(std::forward<Given>(given)...);
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    wait_for_exit();
  }
}

}  // namespace odt_python
