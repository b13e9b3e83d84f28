// intake: the tensor of one argument, for the length of a call: by the exchange table of its type
// where there is one, else by __dlpack__.
// floor 12 · IN: from a Python object to a tensor that is used now
#pragma once

#include <utility>

#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/consume.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/tensor_object.hpp>
#include <dlbridge/python/tensor_type.hpp>
#include <dlbridge/python/type_cache.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// What is wanted of an argument's tensor. A bare DLTensor has no mark for read-only memory, so one
/// is not borrowed by whoever writes.
enum class intake_mode : std::uint8_t { borrow_to_read, borrow_to_write, own };

/// A tensor that came in: lent by its object, which the caller holds, or owned.
/// thread and GIL: held.
class intake {
 public:
  intake() noexcept : view_(empty_tensor()) {}
  intake(intake&&) noexcept = default;
  intake& operator=(intake&&) noexcept = default;
  ~intake() {
    if (owned_) {
      error_keeper const kept;  // a refusal may be pending while a foreign deleter runs
      owned_.reset();
    }
  }

  /// Takes the tensor of an object in. False, with a Python exception set, when it is refused: as
  /// consume. What a table gives is checked like anything from outside. Complex tensors are asked
  /// for by __dlpack__ even so, since torch's table exports conjugated views as if they were plain;
  /// what a table refuses is asked for again, for a reason in words.
  bool take_in(PyObject* object, intake_mode mode) noexcept {
    if (is_tensor(object)) {
      return take_own(object, mode);
    }
    void const* const header = type_cache::find(Py_TYPE(object)).exchange;
    exchange_table const table = exchange_table::find(header);
    if (table && take_by_table(table, object, mode)) {
      return true;
    }
    owned_ = PyErr_Occurred() == nullptr ? consume(object, consume_request()) : managed_tensor();
    if (!owned_) {
      return false;
    }
    view_ = owned_.view();
    return true;
  }

  tensor_view const& view() const noexcept { return view_; }
  /// What is owned; empty when the tensor is only lent. Its view stays valid.
  managed_tensor& owned() noexcept { return owned_; }

 private:
  DLBRIDGE_LOCAL static DLTensor const& empty_tensor() noexcept {
    static constexpr DLTensor none{};
    return none;
  }

  bool take_own(PyObject* object, intake_mode mode) noexcept {
    tensor_object& self = tensor_in(object);
    view_ = self.view;
    if (mode != intake_mode::own) {
      return true;
    }
    bool const done =
        guarded([&] { owned_ = dlbridge::lend(share(self), self.view, flavour::versioned); });
    view_ = done ? owned_.view() : view_;
    return done;
  }

  bool take_by_table(exchange_table table, PyObject* object, intake_mode mode) noexcept {
    if (mode == intake_mode::borrow_to_read && table.can_lend()) {
      DLTensor lent;
      if (!table.try_lend(object, lent)) {
        return may_ask_again();
      }
      dlbridge::detail::flaw const found = dlbridge::detail::find_flaw(lent);
      if (found != dlbridge::detail::flaw::none) {
        set_error(dlbridge::detail::explain(found, lent));
        return false;
      }
      view_ = tensor_view(lent);
    } else if (table.can_export()) {
      report why;
      owned_ = table.try_export(object, why);
      if (!why.ok()) {
        set_error(why);
        return false;
      }
      if (!owned_) {
        return may_ask_again();
      }
      view_ = owned_.view();
    } else {
      return false;
    }
    return !is_complex(view_.dtype());
  }

  static bool may_ask_again() noexcept {
    forgive_exception();
    return false;
  }
  static bool is_complex(dtype type) noexcept { return type.code == kDLComplex; }

  tensor_view view_;
  managed_tensor owned_;
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
