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
#include <dlbridge/python/call/detail/scalar.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/requirement.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// Whether an annotation is that of a parameter or of a result.
enum class place { parameter, result };

template <class T, place Place>
struct annotation_composer;

/// Appends the annotation of T, without the None that T may accept.
template <class T, place Place>
struct type_composer {
  template <class Text>
  static constexpr void append_to(Text& text) noexcept {
    constexpr element_kind kind = kind_of<T>;
    constexpr bool is_parameter = Place == place::parameter;
    if constexpr (kind == element_kind::tensor && is_parameter) {
      text.append("typing.Annotated[dlbridge.typing.SupportsDLPack");
      parameter<T>::append_other_types(text);
      append_requirement(text.append(", \""), parameter<T>::required(), true).append("\"]");
    } else if constexpr (kind == element_kind::scalar) {
      text.append(scalar<T>::name);
    } else if constexpr (std::is_void_v<T>) {
      text.append("None");
    } else if constexpr (kind == element_kind::optional || kind == element_kind::variant) {
      join<type_composer>(text, " | ", elements_of<T>());
    } else if constexpr (kind == element_kind::tuple && !detail::is_array<T>) {
      join<annotation_composer>(text.append("tuple["), ", ", elements_of<T>());
      text.append("]");
    } else if constexpr (kind >= element_kind::tuple) {
      text.append(detail::is_mapping<T>
                      ? (is_parameter ? "collections.abc.Mapping[str, " : "dict[str, ")
                      : (is_parameter ? "collections.abc.Iterable[" : "list["));
      join<annotation_composer>(text, "", elements_of<T>());
      text.append("]");
    } else {  // the type of a tensor result depends on the types of the arguments
      text.append("typing.Any");
    }
  }

 private:
  template <template <class, place> class Composer, class Text, class... Elements>
  static constexpr void join(Text& text, char const* separator,
                             element_list<Elements...>) noexcept {
    char const* next = "";
    (append_one<Composer<Elements, Place>, Elements>(text, next, separator), ...);
  }
  template <class Composer, class Element, class Text>
  static constexpr void append_one(Text& text, char const*& next, char const* separator) noexcept {
    if (kind_of<T> != element_kind::variant || !is_monostate<Element>) {
      Composer::append_to(text.append(next));
      next = separator;
    }
  }
};

/// Appends the annotation of T: of a tensor parameter Annotated[SupportsDLPack, "uint8[*, *, 3] on
/// cpu"]. Error messages state the requirement in the same form.
template <class T, place Place>
struct annotation_composer {
  template <class Text>
  static constexpr void append_to(Text& text) noexcept {
    type_composer<T, Place>::append_to(text);
    if (accepts_none<T> && !is_monostate<T> &&
        (!is_tensor_parameter<T> || Place == place::parameter)) {
      text.append(" | None");
    }
  }
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
template <class Result, class... Parameters>
struct annotations_of_signature {
  static signature_annotations get() noexcept { return {all, sizeof...(Parameters)}; }

 private:
  DLBRIDGE_LOCAL static constexpr std::string_view all[] = {
      detail::annotation_of<std::decay_t<Parameters>, place::parameter>()...,
      detail::annotation_of<std::decay_t<Result>, place::result>()};
};

/// @return the first line of a docstring, "name(x: ..., y: float) -> typing.Any"
DLBRIDGE_COLD inline std::string signature_of(function_record const& record,
                                              signature_annotations const& annotations) {
  std::string text = record.name + "(";
  for (std::size_t i = 0; i < annotations.count; ++i) {
    text.append(i == 0 ? "" : ", ").append(record.parameters[i].name).append(": ");
    text.append(annotations.all[i]);
  }
  return text.append(") -> ").append(annotations.all[annotations.count]);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
