// A few threads that work off numbered tasks, the caller among them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "odt/control.hpp"

namespace odt {

class Workers {
 public:
  explicit Workers(int count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Calls task(worker, i) for i < count; returns when all are done; rethrows the first failure.
  void run(std::size_t count, const std::function<void(int, std::size_t)>& task);

 private:
  void work(int worker);
  void loop(int worker);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int, std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0, busy_ = 0;
  std::atomic<std::size_t> next_{0};
  std::uint64_t round_ = 0;
  bool quit_ = false;
  std::exception_ptr failure_;
};

}  // namespace odt
