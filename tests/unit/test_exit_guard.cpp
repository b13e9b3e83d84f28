// SPDX-License-Identifier: BSD-3-Clause
// exit_guard.hpp: a thread that ends in a deleter is suspended, and the process goes on.
#include <dlbridge/exit_guard.hpp>

#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/shared_tensor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

// libc++ brings another unwinder than glibc's pthread_exit uses.
#if defined(__linux__) && defined(__GLIBCXX__)
#include <pthread.h>
#include <unistd.h>

namespace {

using dlbridge::managed_tensor;
using dlbridge::shared_tensor;

std::atomic<int> entered{0};
std::atomic<int> left{0};

void end_thread(DLManagedTensor*) {
  ++entered;
  pthread_exit(nullptr);
}

// Each frees a tensor in a noexcept function, which ends the process if unwinding reaches it.
void destroy(DLManagedTensor* raw) noexcept { managed_tensor const m = managed_tensor::adopt(raw); }
void assign(DLManagedTensor* raw) noexcept {
  managed_tensor m = managed_tensor::adopt(raw);
  m = managed_tensor();
}
void refuse(DLManagedTensor* raw) noexcept {
  raw->dl_tensor.ndim = -1;
  dlbridge::report why;
  static_cast<void>(managed_tensor::try_steal(raw, why));
}
void drop_last_owner(DLManagedTensor* raw) noexcept {
  shared_tensor const shared(managed_tensor::adopt(raw));
}

struct job {
  void (*free)(DLManagedTensor*);
  DLManagedTensor raw{};
};

void* run(void* argument) {
  auto* const each = static_cast<job*>(argument);
  each->free(&each->raw);
  ++left;
  return nullptr;
}

TEST(ThreadExit, AThreadThatEndsInADeleterIsSuspended) {
  static job jobs[] = {{&destroy}, {&assign}, {&refuse}, {&drop_last_owner}};
  int expected = entered;
  for (job& each : jobs) {
    each.raw.deleter = &end_thread;
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, nullptr, &run, &each), 0);
    pthread_detach(thread);
    ++expected;
    for (int i = 0; i < 2000 && entered != expected; ++i) {
      usleep(1000);
    }
    EXPECT_EQ(entered, expected);
  }
  usleep(20000);
  EXPECT_EQ(left, 0) << "a suspended thread does not go on";
}

}  // namespace
#endif

namespace {

TEST(ThreadExit, AnExceptionPassesTheGuard) {
  EXPECT_THROW(dlbridge::detail::call_guarded([]() -> int { throw std::runtime_error("x"); }),
               std::runtime_error);
  int value = 1;
  EXPECT_EQ(&dlbridge::detail::call_guarded([&]() -> int& { return value; }), &value);
}

}  // namespace
