// Arrays of Python that compiled code reads, and writes, where they are.

#pragma once

#include <cstddef>

namespace timesink {

// An array of Python, by its address.
template <typename T>
struct View {
  T* data = nullptr;
  size_t count = 0;
  T& operator[](size_t place) const { return data[place]; }
};

}  // namespace timesink
