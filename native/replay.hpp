// One pass over the graph of a recording, and over the points of its threads.
//
// The oracles are in `analyses/replay/play.py`; both give the same bits.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "views.hpp"

namespace timesink {

struct Graph {
  View<const int32_t> before, needs;  // numbers of nodes; -1 for none
  View<const double> gap, lag;
  View<const int32_t> point, activity;  // what a node is; -1 for neither
  View<const uint8_t> waits;
};

struct Lengths {
  double passes, more;  // since the node before, and since the one that it needs
  bool is_valid;
};

inline Lengths lengths_of(const Graph& graph, size_t node, View<const double> work,
                          View<const double> length) {
  const size_t count = graph.before.count;
  Lengths lengths{graph.gap[node], graph.lag[node], true};
  const int64_t here = graph.point[node], activity = graph.activity[node];
  const int64_t earlier = graph.before[node];
  if (earlier >= static_cast<int64_t>(count)) return {0, 0, false};
  if (here >= 0 && !graph.waits[node] && earlier >= 0) {
    const int64_t from = graph.point[static_cast<size_t>(earlier)];
    if (from >= 0) {
      if (here >= static_cast<int64_t>(work.count) || from >= static_cast<int64_t>(work.count)) {
        return {0, 0, false};
      }
      lengths.passes = work[static_cast<size_t>(here)] - work[static_cast<size_t>(from)];
    }
  }
  if (activity >= 0) {
    if (activity >= static_cast<int64_t>(length.count)) return {0, 0, false};
    lengths.passes += length[static_cast<size_t>(activity)];
    lengths.more += length[static_cast<size_t>(activity)];
  }
  return lengths;
}

// When each node comes, where threads have worked so far as `work` says by point, and activities
// last as `length` says.  `come` has a place more than there are nodes, which stands for what is not
// there.  False where the graph names what it does not have.
inline bool play_graph(const Graph& graph, View<const double> work, View<const double> length,
                       View<double> come) {
  const size_t count = graph.before.count;
  if (come.count != count + 1) return false;
  std::fill(come.data, come.data + come.count, -std::numeric_limits<double>::infinity());
  come[0] = count ? 0.0 : come[0];
  const auto place = [count](int64_t node) {
    return node == -1 ? count : static_cast<size_t>(node);  // what is below is beyond every node
  };
  for (size_t node = 1; node < count; ++node) {
    const size_t earlier = place(graph.before[node]), other = place(graph.needs[node]);
    if (earlier > count || other > count) return false;
    const Lengths lengths = lengths_of(graph, node, work, length);
    if (!lengths.is_valid) return false;
    const double moment = come[earlier] + lengths.passes, later = come[other] + lengths.more;
    come[node] = later > moment ? later : moment;
  }
  return true;
}

// The chain of nodes that decided when `last` came, the last first, and whether it was what each
// needs that decided, not what is before it.  How many they are; -1 where the graph names what it
// does not have.
inline int64_t decisive_path(const Graph& graph, View<const double> work, View<const double> length,
                             View<const double> come, int64_t last, View<int64_t> nodes,
                             View<uint8_t> by_need) {
  const size_t count = graph.before.count;
  if (come.count != count || nodes.count != count || by_need.count != count) return -1;
  const double never = -std::numeric_limits<double>::infinity();
  int64_t found = 0;
  for (int64_t node = last; node > 0; ++found) {
    // What comes later than it did is in no chain that ends.
    if (static_cast<size_t>(node) >= count || static_cast<size_t>(found) >= count) return -1;
    const Lengths lengths = lengths_of(graph, static_cast<size_t>(node), work, length);
    const int64_t earlier = graph.before[static_cast<size_t>(node)];
    const int64_t other = graph.needs[static_cast<size_t>(node)];
    if (!lengths.is_valid || other >= static_cast<int64_t>(count)) return -1;
    const double moment = (earlier < 0 ? never : come[static_cast<size_t>(earlier)]) + lengths.passes;
    const double later = (other < 0 ? never : come[static_cast<size_t>(other)]) + lengths.more;
    nodes[static_cast<size_t>(found)] = node;
    by_need[static_cast<size_t>(found)] = later > moment;
    node = later > moment ? other : earlier;
  }
  return found;
}

struct Points {
  View<const int64_t> time;
  View<const uint8_t> is_start;
  View<const int64_t> first;  // where the points of each thread begin, and the number of all
  View<const double> cost, scale;  // empty where nothing is taken out, or scaled
};

// What the thread of each point had worked so far, waits left out.
inline bool work_of_points(const Graph& graph, const Points& points, double min_share,
                           View<double> so_far) {
  const size_t count = points.time.count, nodes = graph.before.count;
  // How many stretches in which a thread waits begin at a point, less those that end there.
  std::vector<int32_t> waits(count + 1, 0);
  for (size_t node = 0; node < nodes; ++node) {
    if (!graph.waits[node]) continue;
    const int64_t until = graph.point[node], before = graph.before[node];
    if (before < -1 || before >= static_cast<int64_t>(nodes)) return false;
    int64_t since = graph.point[before < 0 ? nodes - 1 : static_cast<size_t>(before)];
    since = since < 0 ? until : since;
    if (until < 0 || until > static_cast<int64_t>(count) || since > static_cast<int64_t>(count)) {
      return false;
    }
    ++waits[static_cast<size_t>(since)];
    --waits[static_cast<size_t>(until)];
  }
  const bool is_dear = points.cost.count != 0;
  int64_t open = 0;
  double sum = 0.0, spent = 0.0;
  for (size_t thread = 0; thread + 1 < points.first.count; ++thread) {
    const int64_t low = points.first[thread], high = points.first[thread + 1];
    if (low < 0 || high < low || high > static_cast<int64_t>(count)) return false;
    double most = -std::numeric_limits<double>::infinity();
    for (size_t place = static_cast<size_t>(low); place < static_cast<size_t>(high); ++place) {
      open += waits[place];
      double passes = 0.0;
      if (open <= 0 && place + 1 < static_cast<size_t>(high)) {
        passes = static_cast<double>(points.time[place + 1] - points.time[place]);
        if (points.scale.count) passes *= points.scale[place];
      }
      so_far[place] = sum;
      if (is_dear) {
        spent += points.cost[place];
        // What an end costs comes after it.
        const double gone = spent - (points.is_start[place] ? 0.0 : points.cost[place]);
        const double least = min_share * sum;
        most = std::max(most, sum - gone - least);
        so_far[place] = most + least;
      }
      sum += passes;
    }
  }
  return true;
}

}  // namespace timesink
