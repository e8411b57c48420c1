// The scanner under a fuzzer that follows coverage: `fuzz_scanner.py` builds and runs this.
//
// Whatever the scanner takes must be consistent: one value per event in each column, places within
// the text, codes within their vocabulary.

#include <cstdio>
#include <cstdlib>

#include "../native/replay.hpp"
#include "../native/scanner.hpp"
#include "scanner_plan.hpp"  // written from the tables of the package

using namespace timesink;

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

void check_codes(const std::vector<int32_t>& codes, const Vocabulary& vocabulary, size_t count) {
  require(codes.size() == count, "a code for every row");
  for (const int32_t code : codes) {
    require(code >= -1 && code < static_cast<int32_t>(vocabulary.words().size()), "a known code");
  }
}

void check_group(const Scanner& scanner, size_t number, size_t size, size_t events) {
  const GroupPlan& plan = scanner.groups[number];
  const GroupRows& group = scanner.rows[number];
  const size_t count = group.rows.size();
  require(group.starts.size() == count && group.ends.size() == count, "places of arguments");
  for (size_t row = 0; row < count; ++row) {
    require(group.rows[row] >= 0 && static_cast<size_t>(group.rows[row]) < events, "a row");
    require(row == 0 || group.rows[row - 1] < group.rows[row], "rows in order");
    require(scanner.place[static_cast<size_t>(group.rows[row])] == static_cast<int8_t>(number),
            "the group of a row");
    const int32_t start = group.starts[row], end = group.ends[row];
    require(start == -1 ? end == -1 : start > 0 && start < end, "where arguments stand");
    require(end <= static_cast<int32_t>(size), "arguments within the text");
  }
  for (const auto* places : {&group.marked, &group.unknown}) {
    for (const int32_t place : *places) {
      require(place >= 0 && static_cast<size_t>(place) < count, "a place among the rows");
    }
  }
  if (!plan.has_arguments || group.odd) return;
  for (size_t column = 0; column < plan.columns.size(); ++column) {
    if (!group.has_values(column)) continue;
    switch (plan.columns[column]) {
      case kInt: require(group.ints[column].size() == count, "integers"); break;
      case kFloat: require(group.floats[column].size() == count, "numbers"); break;
      case kLane: check_codes(group.codes[column], scanner.vocabularies[kLanes], count); break;
      default: check_codes(group.codes[column], scanner.vocabularies[kTexts], count);
    }
  }
}

void check(const Scanner& scanner, size_t size) {
  const size_t events = scanner.phase.size();
  check_codes(scanner.phase, scanner.vocabularies[kPhases], events);
  check_codes(scanner.category, scanner.vocabularies[kCategories], events);
  check_codes(scanner.name, scanner.vocabularies[kNames], events);
  check_codes(scanner.pid, scanner.vocabularies[kLanes], events);
  check_codes(scanner.tid, scanner.vocabularies[kLanes], events);
  require(scanner.ts_ns.size() == events && scanner.dur_ns.size() == events &&
              scanner.ids.size() == events && scanner.place.size() == events,
          "a value for every event");
  size_t rows = 0;
  for (size_t number = 0; number < scanner.groups.size(); ++number) {
    check_group(scanner, number, size, events);
    rows += scanner.rows[number].rows.size();
  }
  require(rows == events, "every event in one group");
}

// Columns of a run are as long as the pieces that went to it are together.
void check_run(const Scanner& scanner, size_t events) {
  require(scanner.run_events == events, "every event of every piece");
  size_t rows = 0;
  for (size_t number = 0; number < scanner.run.size(); ++number) {
    const GroupPlan& plan = scanner.groups[number];
    const RunGroup& group = scanner.run[number];
    const auto holds = [&](const auto& column, unsigned bit) {
      require(column.size() == (plan.kept & bit ? group.count : 0), "a column of the run");
    };
    require(group.index.size() == group.count, "a place for every row of the run");
    for (size_t row = 0; row < group.count; ++row) {
      require(static_cast<size_t>(group.index[row]) < events, "an event of the run");
    }
    holds(group.phase, kKeepPhase);
    holds(group.category, kKeepCategory);
    holds(group.name, kKeepName);
    holds(group.pid, kKeepPid);
    holds(group.tid, kKeepTid);
    holds(group.ts_ns, kKeepTs);
    holds(group.dur_ns, kKeepDur);
    holds(group.ids, kKeepIds);
    for (const auto& column : group.ints) require(column.size() <= group.count, "integers");
    for (const auto& column : group.floats) require(column.size() <= group.count, "numbers");
    for (const auto& column : group.codes) require(column.size() <= group.count, "codes");
    rows += group.count;
  }
  require(scanner.run.empty() || rows == events, "every event in one group of the run");
}

void play_bytes(const uint8_t* data, size_t size) {
  // The same bytes as a graph: links of a byte, which may name no node.
  Graph graph;
  for (size_t i = 0; i + 4 <= size; i += 4) {
    graph.before.push_back(static_cast<int8_t>(data[i]));
    graph.needs.push_back(static_cast<int8_t>(data[i + 1]));
    graph.gap.push_back(data[i + 2]);
    graph.lag.push_back(data[i + 3]);
  }
  std::vector<double> come(graph.before.size() + 1);
  play_graph(graph, come);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // On the heap and of this very size: what is read beside it is seen.
  const std::unique_ptr<char[]> text(new char[size]);
  if (size) std::memcpy(text.get(), data, size);
  static const Scanner* planned = [] {
    Scanner* scanner = new Scanner();
    fill_plan(*scanner);
    return scanner;
  }();
  Scanner scanner;
  scanner.seed = 7;
  scanner.groups = planned->groups;
  scanner.categories = planned->categories;
  scanner.phases = planned->phases;
  scanner.other_category = planned->other_category;
  scanner.no_category = planned->no_category;
  scanner.dropped = planned->dropped;
  scanner.instant = planned->instant;
  scanner.memory = planned->memory;
  scanner.flow = planned->flow;
  scanner.memory_name = planned->memory_name;
  scanner.slice_phase = planned->slice_phase;
  scanner.vocabularies[kNames].code_of("a name from before", false, scanner.seed);
  size_t in_run = 0;
  for (int turn = 0; turn < 3; ++turn) {  // the second knows the order of keys and words
    size_t words = 0, words_after = 0;
    for (const Vocabulary& vocabulary : scanner.vocabularies) words += vocabulary.words().size();
    try {
      scanner.scan(text.get(), size);
      check(scanner, size);
      if (scanner.is_even()) {
        scanner.add_to_run();
        in_run += scanner.phase.size();
      }
      check_run(scanner, in_run);
    } catch (const Refused&) {
      for (const Vocabulary& v : scanner.vocabularies) words_after += v.words().size();
      require(words == words_after, "nothing stays of what is refused");
    }
  }
  scanner.end_run();
  check_run(scanner, 0);
  // Words that were forgotten leave the others where they were.
  for (Vocabulary& vocabulary : scanner.vocabularies) {
    const size_t count = vocabulary.words().size();
    for (size_t code = 0; code < count; ++code) {
      const Vocabulary::Word word = vocabulary.words()[code];
      require(vocabulary.code_of(word.text, word.is_number, scanner.seed) ==
                  static_cast<int32_t>(code),
              "a word that is known keeps its code");
    }
  }
  if (size && size <= 400) play_bytes(data, size);
  return 0;
}
