// What the bindings of the searches share: arrays, signals and callbacks.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lock.hpp"
#include "odt/control.hpp"
#include "odt/problem.hpp"

namespace odt_python {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// What is given back.
template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using Array2 = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T, class Get>
Array<T> array_of(std::size_t count, Get get) {
  T* data = new T[count > 0 ? count : 1];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<T>(get(i));
  return Array<T>(data, {count}, owner);
}

template <class T>
Array<T> array_of(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), {kept->size()}, owner);
}

template <class T>
Array2<T> matrix_of(std::vector<T>&& values, std::size_t rows, std::size_t columns) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array2<T>(kept->data(), {rows, columns}, owner);
}

template <class T>
std::vector<T> copied(const Vector<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}
template <class T>
std::vector<T> copied(const Matrix<T>& array) {
  return {array.data(), array.data() + array.size()};
}

// A Python function that says whether to stop.
using Asked = std::optional<nb::typed<nb::callable, bool()>>;

// The interpreter is asked for signals a few times a second, not at every poll: taking its lock is
// not free.
class Interrupt {
 public:
  // `asked` is for callers whose signal handler only takes a note.
  explicit Interrupt(const Asked& asked) : asked_(asked) {}

  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (!odt::Looks::counted && now - last_ < std::chrono::milliseconds(50)) return raised_;
    last_ = now;
    Locked lock;
    if (PyErr_CheckSignals() != 0) {
      // Kept back: the caller gets the best tree so far and is told.
      PyErr_Clear();
      raised_ = true;
    }
    if (!raised_ && asked_) raised_ = nb::cast<bool>(called(*asked_));
    return raised_;
  }
  bool raised() const { return raised_; }

 private:
  const Asked& asked_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool raised_ = false;
};

// A Python function called from a search. Its exception is kept until the search has ended.
class Callback {
 public:
  explicit Callback(nb::handle function) : function_(function) {}

  // What the function answers; `otherwise` once it has raised.
  template <class Answer, class... Given>
  Answer ask(Answer otherwise, Given&&... given) {
    if (error_) return otherwise;
    Locked lock;
    try {
      return nb::cast<Answer>(called(function_, std::forward<Given>(given)...));
    } catch (nb::python_error& e) {
      error_ = std::make_unique<nb::python_error>(std::move(e));
    }
    return otherwise;
  }
  template <class... Given>
  void tell(Given&&... given) {
    if (error_) return;
    Locked lock;
    try {
      called(function_, std::forward<Given>(given)...);
    } catch (nb::python_error& e) {
      error_ = std::make_unique<nb::python_error>(std::move(e));
    }
  }
  bool raised() const { return error_ != nullptr; }
  void rethrow() {
    if (error_) throw nb::python_error(std::move(*error_));
  }

 private:
  nb::handle function_;
  std::unique_ptr<nb::python_error> error_;
};

}  // namespace odt_python
