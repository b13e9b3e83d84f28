// Functions whose bodies meet Python exceptions, catch them, and throw them in other threads; and
// functions that return nothing in place of a tensor. Both bindings bind them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/error.hpp>

namespace python_errors {
using shape = dlbridge::shape<dlbridge::dynamic_extent>;
using vector = dlbridge::argument<float const, shape>;
using owned = dlbridge::tensor<float const, shape>;
using span = dlbridge::tensor_span<float const, shape>;

// Releases the GIL, which empty_like acquires in another thread.
struct released_gil {
  released_gil() : state(PyEval_SaveThread()) {}
  released_gil(released_gil const&) = delete;
  released_gil& operator=(released_gil const&) = delete;
  ~released_gil() { PyEval_RestoreThread(state); }
  PyThreadState* state;
};

// The sum of the first elements of tensors, whose producers may empty the dictionary.
template <class Tensor>
float sum_of(std::map<std::string, Tensor> x) {
  float sum = 0;
  for (auto const& item : x) {
    sum += item.second(0);
  }
  return sum;
}

template <class Bind>
void add(Bind bind) {
  bind(
      "allocate_in_thread",
      [](vector const& x, std::int64_t n) {
        released_gil const released;
        return std::async(std::launch::async, [&] { return x.empty_like({n}).extent(0); }).get();
      },
      "x", "n");
  // Tries smaller extents until the allocator succeeds.
  bind(
      "allocate_less",
      [](vector const& x, std::int64_t n) {
        while (true) {
          try {
            return x.empty_like({n}).extent(0);
          } catch (std::exception const&) {
            n >>= 40;
          }
        }
      },
      "x", "n");
  bind(
      "text_of_failure",
      [](vector const& x, std::int64_t n) {
        std::string text;
        try {
          x.empty_like({n});
        } catch (dlbridge::python::python_error const& e) {
          auto const copy = e;
          text = copy.what();
        }
        return text;
      },
      "x", "n");
  bind(
      "throw_without_exception", [](vector const&) { throw dlbridge::python::python_error(); },
      "x");

  bind("empty_owner", [](vector const&) { return dlbridge::managed_tensor(); }, "x");
  bind(
      "empty_in_container", [](vector const&) { return std::vector<dlbridge::managed_tensor>(1); },
      "x");
  bind(
      "moved_from",
      [](vector x) {
        auto const taken = std::move(x);
        return x;  // NOLINT(bugprone-use-after-move)
      },
      "x");
  bind(
      "like_moved_from",
      [](vector x) {
        auto const taken = std::move(x);
        return x.empty_like({3});  // NOLINT(bugprone-use-after-move)
      },
      "x");
  bind(
      "any_like_moved_from",
      [](dlbridge::any_argument x) {
        auto const taken = std::move(x);
        return x.empty_like();  // NOLINT(bugprone-use-after-move)
      },
      "x");
}
}  // namespace python_errors
