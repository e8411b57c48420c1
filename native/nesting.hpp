// Calls of threads nested call by call, those that cross as well.
//
// The oracles are `nest_in_order` and `walk_by_loop` in `model/nested_calls.py`.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "views.hpp"

namespace timesink {

struct Calls {
  View<const int32_t> thread;      // calls of one after those of another
  View<const int64_t> start, end;
  View<const uint8_t> frames;      // what stays a caller of what outlasts it
};

struct Nested {
  View<int32_t> parent, depth, size;
  View<int64_t> self_start;
  View<uint8_t> crossing;
};

inline void nest_calls(const Calls& calls, const Nested& nested) {
  const size_t count = calls.start.count;
  std::vector<size_t> open;
  for (size_t call = 0; call < count; ++call) {
    if (call && calls.thread[call] != calls.thread[call - 1]) open.clear();
    int64_t self_start = calls.start[call];
    bool crosses = false;
    while (!open.empty()) {
      const size_t outer = open.back();
      const int64_t limit = calls.end[outer];
      if (calls.start[call] < limit) {
        if (calls.end[call] <= limit) break;
        crosses = true;
        if (calls.frames[outer]) break;
        self_start = std::max(self_start, limit);
      }
      open.pop_back();
    }
    nested.parent[call] = open.empty() ? -1 : static_cast<int32_t>(open.back());
    nested.depth[call] = static_cast<int32_t>(open.size());
    nested.crossing[call] = crosses;
    nested.self_start[call] = self_start;
    open.push_back(call);
  }
  // Callees come after their callers.
  std::fill(nested.size.data, nested.size.data + count, 1);
  for (size_t call = count; call-- > 0;) {
    const int64_t caller = nested.parent[call];
    if (caller >= 0) nested.size[static_cast<size_t>(caller)] += nested.size[call];
  }
}

// Which intervals have another one of their lane start inside them and end after them.
//
// The oracle is `partially_overlapping` in `model/intervals.py`.
inline void find_crossed(const View<const int64_t>& lane, const View<const int64_t>& start,
                         const View<const int64_t>& end, const View<uint8_t>& crossed) {
  const size_t count = lane.count;
  std::fill(crossed.data, crossed.data + count, 0);
  std::vector<uint32_t> order(count);
  for (size_t row = 0; row < count; ++row) order[row] = static_cast<uint32_t>(row);
  // Of those that start together the longest comes first: it holds the others.
  const auto is_before = [&](uint32_t a, uint32_t b) {
    if (lane[a] != lane[b]) return lane[a] < lane[b];
    if (start[a] != start[b]) return start[a] < start[b];
    return end[a] > end[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), is_before)) {
    std::sort(order.begin(), order.end(), is_before);
  }
  // Those that are open, the one that ends first on top: nearly always the last that began.
  const auto ends_later = [&](uint32_t a, uint32_t b) { return end[a] > end[b]; };
  std::vector<uint32_t> open;
  const auto close = [&] {
    std::pop_heap(open.begin(), open.end(), ends_later);
    open.pop_back();
  };
  for (size_t place = 0; place < count; ++place) {
    const uint32_t row = order[place];
    if (place && lane[row] != lane[order[place - 1]]) open.clear();
    while (!open.empty() && end[open.front()] <= start[row]) close();
    while (!open.empty() && end[open.front()] < end[row]) {
      crossed[open.front()] = 1;  // once is enough: nobody asks how often
      close();
    }
    open.push_back(row);
    std::push_heap(open.begin(), open.end(), ends_later);
  }
}

}  // namespace timesink
