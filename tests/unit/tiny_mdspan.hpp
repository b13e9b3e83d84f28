// tiny::mdspan: a small mdspan for standard libraries without one. It throws where the standard has
// a precondition ([mdspan.layout]), so that a test detects what a hardened library would abort on.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace tiny {

constexpr std::size_t dynamic_extent = static_cast<std::size_t>(-1);

inline void precondition(bool holds, char const* what) {
  if (!holds) {
    throw std::logic_error(what);
  }
}

template <class Index, std::size_t... Extents>
class extents {
 public:
  using index_type = Index;

  static constexpr std::size_t rank() noexcept { return sizeof...(Extents); }
  static constexpr std::size_t static_extent(std::size_t i) noexcept {
    constexpr std::size_t fixed[] = {Extents..., 0};
    return fixed[i];
  }
  template <class... Size, class = std::enable_if_t<sizeof...(Size) == rank()>>
  constexpr explicit extents(Size... sizes) : size_{static_cast<Index>(sizes)...} {
    for (std::size_t i = 0; i < rank(); ++i) {
      precondition(static_extent(i) == dynamic_extent ||
                       static_extent(i) == static_cast<std::size_t>(size_[i]),
                   "a size that is not the static extent");
    }
  }
  constexpr Index extent(std::size_t i) const noexcept { return size_[i]; }

 private:
  std::array<Index, rank()> size_;
};

/// Whether a number of elements, computed in double precision, fits an index type.
template <class Index>
bool fits(double number) {
  return number <= static_cast<double>((std::numeric_limits<Index>::max)());
}

/// The base of all mappings: extents, strides and the sum of index times stride.
template <class Extents>
class strided_mapping {
 public:
  using extents_type = Extents;
  using index_type = typename Extents::index_type;

  template <class... Indices>
  index_type operator()(Indices... indices) const noexcept {
    index_type offset = 0;
    [[maybe_unused]] std::size_t i = 0;  // unused for rank 0
    ((offset = static_cast<index_type>(offset + static_cast<index_type>(indices) * steps_[i++])),
     ...);
    return offset;
  }
  Extents const& extents() const noexcept { return sizes_; }
  index_type stride(std::size_t i) const noexcept { return steps_[i]; }

 protected:
  strided_mapping(Extents const& sizes, std::array<index_type, Extents::rank()> const& steps)
      : sizes_(sizes), steps_(steps) {}

  Extents sizes_;
  std::array<index_type, Extents::rank()> steps_;
};

template <bool LastIsFastest>
struct layout_compact {
  template <class Extents>
  class mapping : public strided_mapping<Extents> {
   public:
    explicit mapping(Extents const& sizes) : strided_mapping<Extents>(sizes, implied(sizes)) {}

   private:
    using index = typename Extents::index_type;
    static std::array<index, Extents::rank()> implied(Extents const& sizes) {
      std::array<index, Extents::rank()> steps{};
      double product = 1;
      for (std::size_t n = 0; n < Extents::rank(); ++n) {
        std::size_t const i = LastIsFastest ? Extents::rank() - 1 - n : n;
        steps[i] = static_cast<index>(product);
        product *= static_cast<double>(sizes.extent(i));
      }
      precondition(fits<index>(product), "a size that the index type cannot hold");
      return steps;
    }
  };
};
using layout_right = layout_compact<true>;
using layout_left = layout_compact<false>;

struct layout_stride {
  template <class Extents>
  class mapping : public strided_mapping<Extents> {
   public:
    using index = typename Extents::index_type;

    mapping(Extents const& sizes, std::array<index, Extents::rank()> const& steps)
        : strided_mapping<Extents>(sizes, steps) {
      std::array<std::size_t, Extents::rank()> order{};
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(steps[a], sizes.extent(a)) < std::pair(steps[b], sizes.extent(b));
      });
      double inside = 1;  // the smallest valid value of the next stride
      double span = 1;
      bool empty = false;
      for (std::size_t const i : order) {
        auto const step = static_cast<double>(steps[i]);
        auto const extent = static_cast<double>(sizes.extent(i));
        precondition(steps[i] > 0, "a stride that is not above 0");
        precondition(step >= inside, "strides that make the mapping not unique");
        inside = step * extent;
        span += step * (extent - 1);
        empty = empty || extent == 0;
      }
      precondition(empty || fits<index>(span), "a span that the index type cannot hold");
    }
    std::array<index, Extents::rank()> strides() const noexcept { return this->steps_; }
  };
};

// As layout_stride_relaxed of CCCL: any strides, and the offset of the first element, so that no
// index leads below the data handle. Without HasOffset no stride is below 0.
template <bool HasOffset>
struct layout_relaxed {
  template <class Extents>
  class mapping : public strided_mapping<Extents> {
   public:
    using index = typename Extents::index_type;
    using strides_type = std::array<std::ptrdiff_t, Extents::rank()>;  // signed

    static constexpr bool is_always_unique() noexcept { return false; }
    template <bool With = HasOffset, class = std::enable_if_t<!With>>
    mapping(Extents const& sizes, strides_type const& steps) : mapping(sizes, steps, 0, 0) {}
    template <bool With = HasOffset, class = std::enable_if_t<With>>
    mapping(Extents const& sizes, strides_type const& steps, std::ptrdiff_t offset)
        : mapping(sizes, steps, offset, 0) {}

    template <class... Indices>
    index operator()(Indices... indices) const noexcept {
      std::ptrdiff_t sum = offset_;
      [[maybe_unused]] std::size_t i = 0;
      ((sum += static_cast<std::ptrdiff_t>(indices) * strides_[i++]), ...);
      return static_cast<index>(sum);
    }
    std::ptrdiff_t stride(std::size_t i) const noexcept { return strides_[i]; }
    strides_type strides() const noexcept { return strides_; }
    std::ptrdiff_t offset() const noexcept { return offset_; }

   private:
    mapping(Extents const& sizes, strides_type const& steps, std::ptrdiff_t offset, int)
        : strided_mapping<Extents>(sizes, {}), strides_(steps), offset_(offset) {
      double below = 0;
      double span = static_cast<double>(offset) + 1;
      bool empty = false;
      for (std::size_t i = 0; i < Extents::rank(); ++i) {
        auto const extent = static_cast<double>(sizes.extent(i));
        auto const step = static_cast<double>(steps[i]);
        precondition(fits<index>(std::abs(step)), "a stride that the index type cannot hold");
        (step < 0 ? below : span) += (extent - 1) * step;
        empty = empty || extent == 0;
      }
      precondition(empty || static_cast<double>(offset) >= -below, "an index below the handle");
      precondition(empty || fits<index>(span), "a span that the index type cannot hold");
    }
    strides_type strides_;
    std::ptrdiff_t offset_;
  };
};

// layout_right_padded<> or layout_left_padded<> of C++26: the fastest dimension is padded to a
// multiple of a number that is known at run time.
template <bool LastIsFastest>
struct layout_padded {
  template <class Extents>
  class mapping : public strided_mapping<Extents> {
   public:
    using index = typename Extents::index_type;
    static constexpr std::size_t padding_value = dynamic_extent;

    explicit mapping(Extents const& sizes) : mapping(sizes, 1) {}
    mapping(Extents const& sizes, index padding)
        : strided_mapping<Extents>(sizes, padded(sizes, padding)) {}

   private:
    static std::array<index, Extents::rank()> padded(Extents const& sizes, index padding) {
      precondition(padding > 0, "a padding that is not above 0");
      std::array<index, Extents::rank()> steps{};
      double product = 1;
      for (std::size_t n = 0; n < Extents::rank(); ++n) {
        std::size_t const i = LastIsFastest ? Extents::rank() - 1 - n : n;
        steps[i] = static_cast<index>(product);
        double const extent = static_cast<double>(sizes.extent(i));
        double const step = static_cast<double>(padding);
        product *= n == 0 ? std::ceil(extent / step) * step : extent;
      }
      precondition(fits<index>(product), "a size that the index type cannot hold");
      return steps;
    }
  };
};

template <class T, class Extents, class Layout = layout_right>
class mdspan {
 public:
  using element_type = T;
  using extents_type = Extents;
  using index_type = typename Extents::index_type;
  using mapping_type = typename Layout::template mapping<Extents>;
  using data_handle_type = T*;

  mdspan(T* data, mapping_type const& mapping) : data_(data), mapping_(mapping) {}

  T* data_handle() const noexcept { return data_; }
  mapping_type const& mapping() const noexcept { return mapping_; }
  index_type extent(std::size_t i) const noexcept { return mapping_.extents().extent(i); }
  index_type stride(std::size_t i) const noexcept { return mapping_.stride(i); }

 private:
  T* data_;
  mapping_type mapping_;
};

}  // namespace tiny
