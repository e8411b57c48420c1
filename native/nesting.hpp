// Calls of a thread that cross, nested call by call.
//
// The oracle is `walk_by_loop` in `analyses/forest.py`.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace timesink {

struct Calls {
  std::vector<int64_t> start, end;
  std::vector<uint8_t> frames;  // what stays a caller of what outlasts it
};

struct Nested {
  std::vector<int64_t> parent, depth, self_start;
  std::vector<uint8_t> crossing;
};

inline Nested nest_calls(const Calls& calls) {
  const size_t count = calls.start.size();
  Nested nested;
  nested.parent.resize(count);
  nested.depth.resize(count);
  nested.self_start.resize(count);
  nested.crossing.resize(count);
  std::vector<size_t> open;
  for (size_t call = 0; call < count; ++call) {
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
  return nested;
}

}  // namespace timesink
