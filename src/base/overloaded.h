// One visitor for a variant, written as a lambda for each alternative.
#pragma once

namespace banyan {

/// Used as in `std::visit(Overloaded{[](const A&) {…}, [](const B&) {…}}, variant)`.
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

}  // namespace banyan
