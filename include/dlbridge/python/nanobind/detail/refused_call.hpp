// library_refusal: finds the reasons why nanobind refused a call of a function that def bound.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/mismatch.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/binding/refused_call.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/bound_record.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

// The Signature of a refused_call, by a bound_record.
class recorded_signature {
 public:
  explicit recorded_signature(bound_record const& record) noexcept : record_(&record) {}

  std::size_t size() const noexcept {
    return record_->parameter_count - (record_->has_args ? 1U : 0U) -
           (record_->has_kwargs ? 1U : 0U);
  }
  std::size_t positional() const noexcept { return record_->positional; }
  static std::size_t positional_only() noexcept { return 0; }  // nanobind has none
  bool takes_args() const noexcept { return record_->has_args; }
  bool takes_kwargs() const noexcept { return record_->has_kwargs; }
  bool is_method() const noexcept { return record_->is_method; }
  char const* name(std::size_t i) const noexcept {
    return i == 0 && is_method() ? "self"
                                 : record_->parameter_name(with_packs(i), record_->parameter_count);
  }
  bool has_default(std::size_t i) const noexcept { return facts(i).has_default; }

  // The number of a parameter with nb::args, which follows the positional parameters.
  std::size_t with_packs(std::size_t i) const noexcept {
    return record_->has_args && i >= record_->positional ? i + 1 : i;
  }
  parameter_facts const& facts(std::size_t i) const noexcept {
    return record_->parameters[with_packs(i)];
  }

 private:
  bound_record const* record_;
};

constexpr char const* caster_headers = "a header of <nanobind/stl/>?";

// A call that nanobind refused, of one or more candidates.
class library_refusal {
 public:
  // keywords: as of refused_call
  library_refusal(PyObject* const* args, std::size_t count, PyObject* keywords,
                  overload_call& imports) noexcept
      : args_(args), count_(count), keywords_(keywords), imports_(imports) {}

  // Adds why a candidate refused: a reason of the call as a whole, or one for each argument.
  // signature: of the candidate
  DLBRIDGE_COLD void add_reasons(bound_record const& record, char const* signature,
                                 refusals& reasons) {
    recorded_signature const own(record);
    binding::refused_call<recorded_signature> const refused(own, args_, count_, keywords_);
    ref const about_call = refused.reason();
    if (about_call) {
      reasons.add_about_call(about_call.get());
      return;
    }
    imports_.begin();
    char const* const parameters = std::strchr(signature, '(');  // null in a text by nb::sig
    for (std::size_t i = 0;
         PyErr_Occurred() == nullptr && !reasons.fatal_exception() && i < own.size(); ++i) {
      parameter_facts const& facts = own.facts(i);
      PyObject* const object = refused.argument(i);
      if (object == nullptr || facts.check == nullptr) {
        continue;
      }
      ref const expected =
          detail::annotation_in(parameters != nullptr ? parameters : "()", own.with_packs(i));
      refused_argument const argument{object, own.name(i), refused.position(i), expected.get(),
                                      facts.converts};
      bool const is_none = object == Py_None && !facts.accepts_none;
      if (!is_none || facts.is_tensor) {
        facts.check(reasons, imports_, argument);
      }
      if (is_none && !reasons) {  // a container may hold a pointer, which takes None
        detail::set_mismatch(argument.expected, object, caster_headers);
        reasons.add(argument.name, argument.position, take_exception());
      }
    }
  }

 private:
  PyObject* const* args_;
  std::size_t count_;
  PyObject* keywords_;
  overload_call& imports_;
};

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
