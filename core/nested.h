// Structures of tensors: what run, reduce and the collectives take where one tensor would do.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "error.h"
#include "tensor_dict.h"

namespace belfry {

// A structure is a tensor, a TensorDict, a std::vector, array, pair, tuple, optional or map (by name) of structures, or
// a struct of the user that names its members:
//
//   struct Step { at::Tensor loss; std::vector<at::Tensor> scores; };
//   auto nest_fields(Step& step) { return std::tie(step.loss, step.scores); }   // beside Step: found by its namespace
//
// Anything else (numbers, strings) is carried along and has no tensors.
namespace internal {

template <class T>
concept HasNestFields = requires(T& value) {
  nest_fields(value);
};

// What a structure holds, in order.
struct NestReader {
  std::vector<at::Tensor> tensors;
  std::string structure;  // "[*, {x: *}]", for comparing and for messages
};

// Puts tensors into the places that NestReader found, in the same order.
struct NestWriter {
  const std::vector<at::Tensor>& tensors;
  size_t next = 0;
};

template <class T>
struct Nest {
  static void read(const T& value, NestReader& reader) {
    if constexpr (HasNestFields<T>) {
      // Read only; users write one overload, for an object that may be changed.
      read_fields(nest_fields(const_cast<T&>(value)), reader);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    } else {
      reader.structure += "-";
    }
  }
  static void write(T& value, NestWriter& writer) {
    if constexpr (HasNestFields<T>) write_fields(nest_fields(value), writer);
  }

  template <class Fields>
  static void read_fields(const Fields& fields, NestReader& reader) {
    reader.structure += "(";
    std::apply([&](const auto&... field) { (read_field(field, reader), ...); }, fields);
    reader.structure += ")";
  }
  template <class Fields>
  static void write_fields(const Fields& fields, NestWriter& writer) {
    std::apply([&](auto&... field) { (Nest<std::remove_cvref_t<decltype(field)>>::write(field, writer), ...); },
               fields);
  }
  template <class Field>
  static void read_field(const Field& field, NestReader& reader) {
    if (reader.structure.back() != '(') reader.structure += ", ";
    Nest<Field>::read(field, reader);
  }
};

template <>
struct Nest<at::Tensor> {
  static void read(const at::Tensor& value, NestReader& reader) {
    reader.tensors.push_back(value);
    reader.structure += "*";
  }
  static void write(at::Tensor& value, NestWriter& writer) { value = writer.tensors.at(writer.next++); }
};

template <>
struct Nest<TensorDict> {
  static void read(const TensorDict& value, NestReader& reader) {
    reader.structure += "{";
    for (const auto& [name, entry] : value) {
      if (reader.structure.back() != '{') reader.structure += ", ";
      reader.structure += name + (entry.is_tensor() ? ": *" : ": strings");
      if (entry.is_tensor()) reader.tensors.push_back(entry.tensor());
    }
    reader.structure += "}";
  }
  static void write(TensorDict& value, NestWriter& writer) {
    for (const std::string& name : value.names()) {
      if (value.at(name).is_tensor()) value.set(name, writer.tensors.at(writer.next++));
    }
  }
};

// Containers of one element type that can be gone through.
template <class Range>
struct NestRange {
  static void read(const Range& values, NestReader& reader) {
    reader.structure += "[";
    for (const auto& value : values) {
      if (reader.structure.back() != '[') reader.structure += ", ";
      Nest<std::remove_cvref_t<decltype(value)>>::read(value, reader);
    }
    reader.structure += "]";
  }
  static void write(Range& values, NestWriter& writer) {
    for (auto& value : values) Nest<std::remove_cvref_t<decltype(value)>>::write(value, writer);
  }
};

template <class T>
struct Nest<std::vector<T>> : NestRange<std::vector<T>> {};
template <>
struct Nest<std::vector<bool>> {  // its elements are no objects
  static void read(const std::vector<bool>&, NestReader& reader) { reader.structure += "-"; }
  static void write(std::vector<bool>&, NestWriter&) {}
};
template <class T, size_t N>
struct Nest<std::array<T, N>> : NestRange<std::array<T, N>> {};

template <class T>
struct Nest<std::map<std::string, T>> {
  static void read(const std::map<std::string, T>& values, NestReader& reader) {
    reader.structure += "{";
    for (const auto& [name, value] : values) {
      if (reader.structure.back() != '{') reader.structure += ", ";
      reader.structure += name + ": ";
      Nest<T>::read(value, reader);
    }
    reader.structure += "}";
  }
  static void write(std::map<std::string, T>& values, NestWriter& writer) {
    for (auto& [name, value] : values) Nest<T>::write(value, writer);
  }
};

template <class T>
struct Nest<std::optional<T>> {
  static void read(const std::optional<T>& value, NestReader& reader) {
    value ? Nest<T>::read(*value, reader) : void(reader.structure += "none");
  }
  static void write(std::optional<T>& value, NestWriter& writer) {
    if (value) Nest<T>::write(*value, writer);
  }
};

template <class... T>
struct Nest<std::tuple<T...>> {
  static void read(const std::tuple<T...>& value, NestReader& reader) { Nest<int>::read_fields(value, reader); }
  static void write(std::tuple<T...>& value, NestWriter& writer) {
    std::apply([&](auto&... field) { (Nest<T>::write(field, writer), ...); }, value);
  }
};
template <class A, class B>
struct Nest<std::pair<A, B>> {
  static void read(const std::pair<A, B>& value, NestReader& reader) {
    Nest<int>::read_fields(std::tie(value.first, value.second), reader);
  }
  static void write(std::pair<A, B>& value, NestWriter& writer) {
    Nest<A>::write(value.first, writer);
    Nest<B>::write(value.second, writer);
  }
};

// Whether a T holds numbers, at any depth.
template <class T>
constexpr bool holds_numbers();
template <class... T>
constexpr bool any_holds_numbers(const std::tuple<T...>*) {
  return (holds_numbers<std::remove_cvref_t<T>>() || ...);
}
template <class T>
struct HoldsNumbers : std::bool_constant<std::is_arithmetic_v<T>> {};
template <class T>
struct HoldsNumbers<std::vector<T>> : HoldsNumbers<T> {};
template <class T, size_t N>
struct HoldsNumbers<std::array<T, N>> : HoldsNumbers<T> {};
template <class T>
struct HoldsNumbers<std::map<std::string, T>> : HoldsNumbers<T> {};
template <class T>
struct HoldsNumbers<std::optional<T>> : HoldsNumbers<T> {};
template <class... T>
struct HoldsNumbers<std::tuple<T...>> : std::bool_constant<(HoldsNumbers<T>::value || ...)> {};
template <class A, class B>
struct HoldsNumbers<std::pair<A, B>> : std::bool_constant<HoldsNumbers<A>::value || HoldsNumbers<B>::value> {};
template <class T>
constexpr bool holds_numbers() {
  if constexpr (HasNestFields<T>) {
    return any_holds_numbers(static_cast<decltype(nest_fields(std::declval<T&>()))*>(nullptr));
  } else {
    return HoldsNumbers<T>::value;
  }
}

}  // namespace internal

// The tensors of a structure, in order.
template <class T>
std::vector<at::Tensor> tensors_in(const T& value) {
  internal::NestReader reader;
  internal::Nest<T>::read(value, reader);
  return std::move(reader.tensors);
}

// Its shape in words, equal for two structures of one type exactly when their tensors stand at the same places: "*" for
// a tensor, "[…]" for a list, "{name: …}" for what has names, "(…)" for a tuple or struct, "-" for anything else.
template <class T>
std::string structure_of(const T& value) {
  internal::NestReader reader;
  internal::Nest<T>::read(value, reader);
  return std::move(reader.structure);
}

// A copy with other tensors in the places of tensors_in(value). kInvalidArgument unless there are as many.
template <class T>
T with_tensors(const T& value, const std::vector<at::Tensor>& tensors) {
  const size_t wanted = tensors_in(value).size();
  require(tensors.size() == wanted, "a structure of ", wanted, " tensors was given ", tensors.size());
  T copy = value;
  internal::NestWriter writer{tensors};
  internal::Nest<T>::write(copy, writer);
  return copy;
}

}  // namespace belfry
