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
  explicit Workers(int count) {
    for (int i = 1; i < count; ++i) threads_.emplace_back([this, i] { loop(i); });
  }
  ~Workers() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      quit_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Calls task(worker, i) for i < count; returns when all are done; rethrows the first failure.
  void run(std::size_t count, const std::function<void(int, std::size_t)>& task) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      task_ = &task;
      count_ = count;
      next_ = 0;
      busy_ = threads_.size();
      failure_ = nullptr;
      ++round_;
    }
    wake_.notify_all();
    work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work(int worker) {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        (*task_)(worker, i);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        next_ = count_;
      }
    }
  }
  void loop(int worker) {
    Control::mark_worker();
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return quit_ || round_ != seen; });
        if (quit_) return;
        seen = round_;
      }
      work(worker);
      std::lock_guard<std::mutex> lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

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
