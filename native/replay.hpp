// One pass over the graph of a recording: when each node comes.
//
// The oracle is the loop in `analyses/replay/play.py`; both give the same bits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace timesink {

struct Graph {
  std::vector<int64_t> before, needs;  // numbers of nodes; -1 for none
  std::vector<double> gap, lag;
};

// `come` has a place more than there are nodes, which stands for what is not there.  False where the
// graph names a node that it does not have.
inline bool play_graph(const Graph& graph, std::vector<double>& come) {
  const size_t count = graph.before.size();
  for (double& moment : come) moment = -std::numeric_limits<double>::infinity();
  come[0] = count ? 0.0 : come[0];
  const auto place = [count](int64_t node) {
    return node == -1 ? count : static_cast<size_t>(node);  // what is below is beyond every node
  };
  for (size_t node = 1; node < count; ++node) {
    const size_t earlier = place(graph.before[node]), other = place(graph.needs[node]);
    if (earlier > count || other > count) return false;
    const double moment = come[earlier] + graph.gap[node], later = come[other] + graph.lag[node];
    come[node] = later > moment ? later : moment;
  }
  return true;
}

}  // namespace timesink
