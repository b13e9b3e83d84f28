// table_gaps: states what the exchange table of a library exports although its __dlpack__ refuses
// it, and asks an object for it.
// layer: import · what an exchange table does not report
#pragma once

#include <cstddef>
#include <cstring>

#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
/// One question to an object of a library: a property, or a method without arguments.
struct gap_question {
  PyObject* names::* attribute = nullptr;
  bool is_method = false;
  bool usual = false;  ///< the answer with which the table exports the tensor as __dlpack__ does
  /// The refusal of the other answer, where __dlpack__ too would export a wrong tensor. Null where
  /// __dlpack__ refuses the tensor itself.
  char const* expected = nullptr;
  char const* got = nullptr;
  char const* advice = nullptr;
};

/// The questions to the objects of one type. Those with a refusal come first: the others are for
/// the table alone.
struct gap_row {
  char const* module;
  char const* type;
  gap_question questions[2];
};

DLBRIDGE_LOCAL inline constexpr gap_row gap_rows[] = {
    {"torch",
     "Tensor",
     {{&names::is_neg, true, false, "a tensor whose memory holds its values",
       "a PyTorch tensor that is negated lazily, whose memory has the opposite sign",
       "Call its resolve_neg() first"},
      {&names::requires_grad, false, false}}},
    {"paddle", "Tensor", {{&names::is_sparse, true, false}, {&names::stop_gradient, false, true}}},
};

// Whether a class has this name in this module.
inline bool is_named(PyTypeObject* type, char const* module, char const* name) noexcept {
  char const* const dotted = type->tp_name;  // with the module where the type is static
  char const* const dot = std::strrchr(dotted, '.');
  if (std::strcmp(dot != nullptr ? dot + 1 : dotted, name) != 0) {
    return false;
  }
  ref const stored = type_attribute(type, names::get().module);
  if (stored && PyUnicode_Check(stored.get())) {
    return PyUnicode_CompareWithASCIIString(stored.get(), module) == 0;
  }
  std::size_t const length = std::strlen(module);
  return std::strncmp(dotted, module, length) == 0 && dotted + length == dot;
}

/// The row for a type: its own, or that of a class from which it is derived. Null for most types.
/// No Python code runs.
DLBRIDGE_COLD inline gap_row const* find_gaps(PyTypeObject* type) noexcept {
  PyObject* const bases = type->tp_mro;
  for (Py_ssize_t i = 0; bases != nullptr && i < PyTuple_GET_SIZE(bases); ++i) {
    auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
    for (gap_row const& row : gap_rows) {
      if (is_named(base, row.module, row.type)) {
        return &row;
      }
    }
  }
  return nullptr;
}

/// For which import an object is asked: by the table, all questions; by `__dlpack__`, those with a
/// refusal.
enum class asked_for { table, protocol };

/// How to import an object after the questions.
enum class gap_answer {
  table,     ///< by the table, which exports what __dlpack__ would
  protocol,  ///< by __dlpack__
  failed     ///< not at all: an exception is set
};

/// Asks an object the questions of its row.
/// @return failed for an answer that is refused, with BufferError set, and for an exception that is
///   not forgivable; protocol for another exception, as __dlpack__ states the reason.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
inline gap_answer ask_gaps(gap_row const& row, PyObject* object, asked_for road) noexcept {
  for (gap_question const& each : row.questions) {
    if (road == asked_for::protocol && each.expected == nullptr) {
      continue;
    }
    PyObject* const name = names::get().*each.attribute;
    ref const answer = ref::steal(each.is_method ? api<PyObject_CallMethodNoArgs>(object, name)
                                                 : api<PyObject_GetAttr>(object, name));
    if (!answer) {
      return forgive_exception() ? gap_answer::protocol : gap_answer::failed;
    }
    if (answer.get() != (each.usual ? Py_True : Py_False)) {
      if (each.expected == nullptr) {
        return gap_answer::protocol;
      }
      set_error(refusal(errc::producer_failed, each.expected, each.got, each.advice));
      return gap_answer::failed;
    }
  }
  return road == asked_for::table ? gap_answer::table : gap_answer::protocol;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
