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
  View<const int64_t> thread, start, end;  // of one thread after those of another
  View<const uint8_t> frames;              // what stays a caller of what outlasts it
};

struct Nested {
  View<int64_t> parent, depth, self_start, size;
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
    nested.parent[call] = open.empty() ? -1 : static_cast<int64_t>(open.back());
    nested.depth[call] = static_cast<int64_t>(open.size());
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

}  // namespace timesink
