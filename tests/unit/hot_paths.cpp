// The functions whose instructions count_instructions.py counts and limits.
#include <dlbridge/managed.hpp>

#include <utility>

using dlbridge::managed_tensor;

extern "C" void adopt_move_release_versioned(DLManagedTensorVersioned* raw) {
  managed_tensor first = managed_tensor::adopt(raw);
  managed_tensor second(std::move(first));
  second.reset();
}

extern "C" void adopt_move_release_legacy(DLManagedTensor* raw) {
  managed_tensor first = managed_tensor::adopt(raw);
  managed_tensor second(std::move(first));
  second.reset();
}
