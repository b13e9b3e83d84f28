// annotation_composer: the Python annotation of a parameter or a result, composed at compile time;
// signature_of: the signature of a function of def_fast.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/detail/literal_text.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/returns.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Whether an annotation is that of a parameter or of a result: of library Id at result_in + Id.
enum class place : unsigned char { parameter, result, result_in };
/// The place of the results of a function with these extras.
template <class... Extra>
constexpr place result_place = place::result;
template <class Other, class... Extra>
constexpr place result_place<Other, Extra...> = result_place<Extra...>;
template <library_id Id, class... Extra>
constexpr place result_place<returns<Id>, Extra...> = static_cast<place>(
    static_cast<unsigned char>(place::result_in) + static_cast<unsigned char>(Id));

template <class T, place Place>
struct annotation_composer;

/// Appends the annotation of T, without the None that T may accept.
template <class T, place Place>
struct type_composer {
  template <class Text>
  static constexpr void append_to(Text& text) noexcept;

 private:
  template <template <class, place> class Composer, class Text, class... Elements>
  static constexpr void join(Text& text, char const* separator,
                             element_list<Elements...>) noexcept {
    char const* next = "";
    (append_one<Composer<Elements, Place>, Elements>(text, next, separator), ...);
  }
  template <class Composer, class Element, class Text>
  static constexpr void append_one(Text& text, char const*& next, char const* separator) noexcept;
};

/// Appends the annotation of T: of a tensor parameter Annotated[SupportsDLPack, "uint8[*, *, 3] on
/// cpu"]. Error messages state the requirement in the same form.
template <class T, place Place>
struct annotation_composer {
  template <class Text>
  static constexpr void append_to(Text& text) noexcept;
};

namespace detail {
template <class T, place Place>
DLBRIDGE_LOCAL inline constexpr auto annotation_text = compose<annotation_composer<T, Place>>();
template <class T, place Place>
constexpr std::string_view annotation_of() noexcept {
  return {annotation_text<T, Place>.data, annotation_text<T, Place>.size};
}
}  // namespace detail

/// The annotations of a signature: of each parameter, and then of the result.
struct signature_annotations {
  std::string_view const* all;
  std::size_t count;  ///< of the parameters
};

/// The annotations of Result(Parameters...).
template <place Place, class Result, class... Parameters>
struct annotations_of_signature {
  static signature_annotations get() noexcept { return {all, sizeof...(Parameters)}; }

 private:
  DLBRIDGE_LOCAL static constexpr std::string_view all[] = {
      detail::annotation_of<std::decay_t<Parameters>, place::parameter>()...,
      detail::annotation_of<std::decay_t<Result>, Place>()};
};

/// @return the first line of a docstring, "name(x: ..., y: float) -> typing.Any"
DLBRIDGE_COLD std::string signature_of(function_record const& record,
                                       signature_annotations const& annotations);
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/annotation.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/annotation.ipp>
#endif
