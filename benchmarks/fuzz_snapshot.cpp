// Reads files with the compiled reader of memory snapshots, in pieces of drawn sizes; built with
// sanitizers by fuzz_snapshot.py.  With libFuzzer it is the target, else a program that takes files.

#include "../native/snapshot.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>

using namespace timesink;

static const std::vector<std::string> kActions = {
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "oom", "snapshot", "workspace_snapshot", "user_defined"};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SnapshotReader reader(0x1234567, kActions);
  uint64_t draw = size * 0x9e3779b97f4a7c15ULL + 1;
  try {
    size_t at = 0;
    while (at < size && !reader.is_done) {
      draw = draw * 6364136223846793005ULL + 1442695040888963407ULL;
      const size_t piece = std::min(size - at, static_cast<size_t>(1 + (draw >> 52)));
      // A copy of its own, so that a read beyond it is seen.
      std::vector<char> copy(data + at, data + at + piece);
      reader.feed(copy.data(), copy.size());
      at += piece;
    }
    for (size_t list = 0; list < reader.lists.size(); ++list) {
      try {
        reader.stack_number(list);
      } catch (const Refused&) {
      }
    }
    size_t rows = 0;
    for (const EventRows& events : reader.events) rows += events.note.size();
    if (reader.stack_starts.back() != static_cast<int64_t>(reader.stack_frames.size())) {
      __builtin_trap();
    }
    return rows > size ? (__builtin_trap(), 1) : 0;
  } catch (const Refused&) {
    return 0;
  }
}

#ifndef WITH_LIBFUZZER
int main(int count, char** names) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  }
  std::printf("%d files\n", count - 1);
}
#endif
