// Calls around the nodes of a CUDA graph while it is captured.
//
// PyTorch can announce the begin and the end of every operator as an NVTX range.  A library named in
// NVTX_INJECTION64_PATH gets these announcements; this one asks the driver at each how many nodes the
// graph has so far, so that it is known exactly which nodes were made within which call.  Nothing is
// measured, and no profiler is attached to the device.  It happens on the thread that makes the calls,
// without the interpreter's lock.

#pragma once

#if defined(__linux__)

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

namespace timesink {
namespace graph_marks {

// cuStreamGetCaptureInfo_v2: says whether a stream is captured, and into which graph.
using CaptureInfo = int (*)(void* stream, int* status, uint64_t* id, void** graph, void*** after,
                            size_t* count);
// cuGraphGetNodes: with no room for nodes it gives their number.
using CountNodes = int (*)(void* graph, void** nodes, size_t* count);

constexpr int kCaptureIsActive = 1;

constexpr size_t kMaxBytes = size_t{256} << 20;
// What PyTorch adds to the names of its own ranges: those of other libraries on other threads do not
// matter, and must not touch the graph.
constexpr const char* kOperator = ", op_id = ";

// One mark, followed by its text.
struct Mark {
  uint32_t thread;
  uint32_t nodes;
  uint32_t length;
  uint32_t is_begin;
};

struct State {
  std::mutex lock;
  CaptureInfo capture_info = nullptr;
  CountNodes count_nodes = nullptr;
  void* stream = nullptr;
  uint32_t thread = 0;
  uint32_t nodes = 0;
  bool is_full = false;
  std::string marks;
};

inline State& state() {
  static State only;
  return only;
}

// The number of the capture under way, 0 for none, and whether the library is in use.
inline std::atomic<uint64_t>& under_way() {
  static std::atomic<uint64_t> number{0};
  return number;
}

inline std::atomic<bool>& is_in_use() {
  static std::atomic<bool> value{false};
  return value;
}

// Ranges that are open on this thread: true for those that were noted.
struct Open {
  uint64_t capture = 0;
  std::vector<bool> noted;
};

inline Open& open_ranges(uint64_t capture) {
  thread_local Open open;
  if (open.capture != capture) {
    open.capture = capture;
    open.noted.clear();
  }
  return open;
}

inline uint32_t this_thread() {
  thread_local const uint32_t number = static_cast<uint32_t>(syscall(SYS_gettid));
  return number;
}

inline void add(const char* text, bool is_begin) {
  State& all = state();
  std::lock_guard<std::mutex> guard(all.lock);
  if (all.count_nodes == nullptr || all.is_full) return;
  // A capture that has failed has no graph any more.
  int status = 0;
  uint64_t id = 0;
  void* graph = nullptr;
  size_t count = 0;
  if (all.capture_info(all.stream, &status, &id, &graph, nullptr, nullptr) == 0 &&
      status == kCaptureIsActive && all.count_nodes(graph, nullptr, &count) == 0) {
    all.nodes = static_cast<uint32_t>(count);
  }
  const size_t length = text == nullptr ? 0 : std::strlen(text);
  all.is_full = all.marks.size() + sizeof(Mark) + length > kMaxBytes;
  if (all.is_full) return;
  const Mark mark{this_thread(), all.nodes, static_cast<uint32_t>(length), is_begin};
  all.marks.append(reinterpret_cast<const char*>(&mark), sizeof(mark));
  all.marks.append(text == nullptr ? "" : text, length);
}

inline void begin_range(const char* text) noexcept {
  const uint64_t capture = under_way().load(std::memory_order_acquire);
  if (capture == 0 || text == nullptr) return;
  try {
    Open& open = open_ranges(capture);
    const bool matters =
        this_thread() == state().thread || std::strstr(text, kOperator) != nullptr;
    open.noted.push_back(false);
    if (matters) add(text, true);
    open.noted.back() = matters;
  } catch (...) {
    // The program goes on; a range whose begin is missing has no end either.
  }
}

inline void end_range() noexcept {
  const uint64_t capture = under_way().load(std::memory_order_acquire);
  if (capture == 0) return;
  try {
    Open& open = open_ranges(capture);
    if (open.noted.empty()) return;
    const bool matters = open.noted.back();
    open.noted.pop_back();
    if (matters) add(nullptr, false);
  } catch (...) {
  }
}

// What NVTX calls: https://nvidia.github.io/NVTX, "injection".  Numbers are those of its interface.
extern "C" {

typedef void (*NvtxFunction)(void);
typedef const void* (*NvtxExportTable)(uint32_t table);

struct NvtxCallbacks {
  size_t bytes;
  int (*functions)(int module, NvtxFunction*** table, unsigned int* count);
};

constexpr uint32_t kCallbackTable = 1;
constexpr int kCoreModule = 1;
constexpr unsigned int kRangePushA = 9, kRangePop = 11;

__attribute__((visibility("default"))) inline int timesink_range_push(const char* text) {
  begin_range(text);
  return 0;
}

__attribute__((visibility("default"))) inline int timesink_range_pop(void) {
  end_range();
  return 0;
}

__attribute__((visibility("default"), used)) inline int InitializeInjectionNvtx2(
    NvtxExportTable export_table) {
  const auto* callbacks = static_cast<const NvtxCallbacks*>(export_table(kCallbackTable));
  NvtxFunction** table = nullptr;
  unsigned int count = 0;
  if (callbacks == nullptr || callbacks->functions(kCoreModule, &table, &count) == 0) return 0;
  if (count <= kRangePop) return 0;
  if (table[kRangePushA] != nullptr) {
    *table[kRangePushA] = reinterpret_cast<NvtxFunction>(&timesink_range_push);
  }
  if (table[kRangePop] != nullptr) {
    *table[kRangePop] = reinterpret_cast<NvtxFunction>(&timesink_range_pop);
  }
  is_in_use() = true;
  return 1;
}

// Whether NVTX has taken this library.
__attribute__((visibility("default"), used)) inline int timesink_marks_in_use(void) {
  return is_in_use() ? 1 : 0;
}

// Note the ranges of a capture from here on, which this thread makes.
__attribute__((visibility("default"), used)) inline void timesink_marks_begin(
    void* capture_info, void* count_nodes, void* stream) {
  static std::atomic<uint64_t> captures{0};
  State& all = state();
  std::lock_guard<std::mutex> guard(all.lock);
  all.capture_info = reinterpret_cast<CaptureInfo>(capture_info);
  all.count_nodes = reinterpret_cast<CountNodes>(count_nodes);
  all.stream = stream;
  all.thread = this_thread();
  all.nodes = 0;
  all.is_full = false;
  all.marks.clear();
  under_way().store(++captures, std::memory_order_release);
}

// Note no more: the marks, whose bytes `length` gives, stay until the next begin.
__attribute__((visibility("default"), used)) inline const char* timesink_marks_end(
    size_t* length) {
  under_way().store(0, std::memory_order_release);
  State& all = state();
  std::lock_guard<std::mutex> guard(all.lock);
  all.count_nodes = nullptr;
  *length = all.is_full ? 0 : all.marks.size();
  return all.marks.data();
}

}  // extern "C"

}  // namespace graph_marks
}  // namespace timesink

#endif  // __linux__
