// A column that grows with a recording, however long, without ever standing in memory twice.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace timesink {

// Where the system can move pages instead of copying them, large columns are pages of their own:
// those are given back at once, and memory that was never written is none.
template <typename T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Column() { release(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return data_; }
  const T& operator[](size_t place) const { return data_[place]; }

  // Room for more values behind the last one, to be written by the caller.
  T* extend(size_t more) {
    if (more > capacity_ - size_) grow(more);
    T* first = data_ + size_;
    size_ += more;
    return first;
  }

  // Values behind the row `before`; rows in between have none.
  void append(const std::vector<T>& more, size_t before, T missing) {
    fill(before, missing);
    if (!more.empty()) std::memcpy(extend(more.size()), more.data(), more.size() * sizeof(T));
  }

  // Up to so many rows: those that are new have no value.
  void fill(size_t count, T missing) {
    if (count <= size_) return;
    const size_t more = count - size_;
    T* first = extend(more);
    for (size_t place = 0; place < more; ++place) first[place] = missing;
  }

  void release() {
    if (data_ == nullptr) return;
#if defined(__linux__)
    if (is_paged(capacity_)) {
      munmap(data_, capacity_ * sizeof(T));
    } else {
      std::free(data_);
    }
#else
    std::free(data_);
#endif
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

 private:
  static constexpr size_t kPagedBytes = 1 << 20;
  static bool is_paged(size_t capacity) { return capacity * sizeof(T) >= kPagedBytes; }

  void swap(Column& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  void grow(size_t more) {
    if (more > (static_cast<size_t>(-1) / 4) / sizeof(T) - size_) throw std::bad_alloc();
    size_t capacity = capacity_ ? capacity_ * 2 : 1024;
    while (capacity - size_ < more) capacity *= 2;
    T* larger = static_cast<T*>(resized(capacity));
    if (larger == nullptr) throw std::bad_alloc();
    data_ = larger;
    capacity_ = capacity;
  }

  // Capacities are powers of two: pages of their own are whole ones.
  void* resized(size_t capacity) {
#if defined(__linux__)
    if (is_paged(capacity)) {
      void* pages = is_paged(capacity_)
                        ? mremap(data_, capacity_ * sizeof(T), capacity * sizeof(T), MREMAP_MAYMOVE)
                        : mmap(nullptr, capacity * sizeof(T), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (pages == MAP_FAILED) return nullptr;
      if (!is_paged(capacity_) && data_ != nullptr) {
        std::memcpy(pages, data_, size_ * sizeof(T));
        std::free(data_);
      }
      return pages;
    }
#endif
    return std::realloc(data_, capacity * sizeof(T));
  }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace timesink
