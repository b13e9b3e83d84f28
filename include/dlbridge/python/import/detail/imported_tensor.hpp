// imported_tensor: the tensor of one argument during a call, from the exchange table of its type or
// from __dlpack__.
// layer: import · from a Python object to a tensor that is used now
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/check.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/consume.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// What is wanted of an argument's tensor. A bare DLTensor has no mark for read-only memory, so one
/// is not borrowed by whoever writes.
enum class import_mode : std::uint8_t { borrow_to_read, borrow_to_write, own };

/// A tensor that came in: lent by its object, which the caller holds, or owned.
/// thread and GIL: held.
class imported_tensor {
 public:
  imported_tensor() noexcept {}
  imported_tensor(imported_tensor&&) = delete;  // what is shown may lie in it
  ~imported_tensor() {
    if (owned_) {
      drop();
    }
  }

  /// Takes the tensor of an object in. False, with a Python exception set, when it is refused: as
  /// consume. What a table gives is checked like anything from outside. Complex tensors are asked
  /// for by __dlpack__ even so, since torch's table exports conjugated views as if they were plain;
  /// what a table refuses is asked for again, for a reason in words.
  bool take_in(PyObject* object, import_mode mode) noexcept {
    exchange_table const table = type_cache::find(Py_TYPE(object)).exchange;
    if (table && take_by_table(table, object, mode)) {
      return true;
    }
    if (PyErr_Occurred() != nullptr) {
      return false;
    }
    owned_ = consume(object, consume_request());
    if (owned_) {
      show_owned();
    }
    return static_cast<bool>(owned_);
  }

  /// Borrows an ordinary tensor that keeps every rule. False says nothing: take_in does.
  DLBRIDGE_INLINE bool try_borrow_fast(PyObject* object, requirement const& need) noexcept {
    type_entry const* const known = type_cache::peek(Py_TYPE(object));
    if (known == nullptr || (!known->exchange && !known->host_only)) {
      return false;
    }
    if (known->host_only) {
      return detail::can_read_ndarrays(Py_TYPE(object)) &&
             detail::read_ndarray(object, shown_, strides_, flags_) &&
             (!need.writable || flags_ == 0) && dlbridge::detail::fits_fast_path(shown_, need);
    }
    if (need.writable || !known->exchange.can_lend()) {
      return false;
    }
    flags_ = 0;
    if (!known->exchange.try_lend(object, shown_)) {
      PyErr_Clear();  // asked again by take_in, it says the same
      return false;
    }
    return !is_complex(need.type) && dlbridge::detail::fits_fast_path(shown_, need);
  }

  /// Only after take_in gave true. lives: as the object lends it, or as owned().
  tensor_view view() const noexcept { return tensor_view(shown_, flags_); }
  /// What is owned; empty when the tensor is only lent. Its view stays valid.
  managed_tensor& owned() noexcept { return owned_; }

 private:
  DLBRIDGE_COLD void drop() noexcept {
    error_keeper const kept;  // a refusal may be pending while a foreign deleter runs
    owned_.reset();
  }

  void show_owned() noexcept {
    shown_ = owned_.tensor();
    flags_ = owned_.flags();
  }

  // False without an exception: to be asked for by __dlpack__.
  bool take_by_table(exchange_table table, PyObject* object, import_mode mode) noexcept {
    report why;
    if (mode == import_mode::borrow_to_read && table.can_lend()) {
      if (!table.try_lend(object, shown_)) {
        forgive_exception();
        return false;
      }
      flags_ = 0;
      why = check_tensor(shown_);
    } else if (table.can_export()) {
      owned_ = table.try_export(object, why);
      if (owned_) {
        show_owned();
      } else if (why.ok()) {
        forgive_exception();
        return false;
      }
    } else {
      return false;
    }
    if (!why.ok()) {
      set_error(why);
    }
    return why.ok() && !is_complex(dtype(shown_.dtype));
  }

  DLTensor shown_;  // not set before take_in
  std::uint64_t flags_;
  managed_tensor owned_;
  std::int64_t strides_[detail::direct_rank];  // of an ndarray, in elements
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
