// Events of a Chrome-format trace, from JSON text to columns, without a Python object per event.
//
// A piece of the event list is scanned once.  Known arguments become columns by the tables that
// the Python path has too (`argument_sets.csv`), texts are numbered in vocabularies.  Whatever is
// unusual (damage, odd types, escaped keys, times as text) makes the scanner refuse the piece, or
// mark the group of events: the Python path then decodes it.  So the scanner may be strict, and
// never has to repair.
//
// Input is untrusted: every read is within bounds, nesting is limited, hashes are seeded.

#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "column.hpp"
#include "json_text.hpp"
#include "vocabulary.hpp"

namespace timesink {

enum VocabularyId { kPhases, kCategories, kNames, kLanes, kTexts, kVocabularies };

// ---- what is asked: groups of events and their arguments ----------------------------------------

enum ValueType : uint8_t { kInt, kFloat, kLane, kText, kMarker, kPacked, kIgnored };

struct Key {
  std::string text;
  ValueType type = kIgnored;
  int32_t column = -1;
  int32_t rank = 0;      // among the names of a column, the first that is given counts
  int32_t follower = 0;  // the key that came after this one last time
  Guess guess;           // of its values, where they are texts
};

struct GroupPlan {
  std::string name;
  std::vector<Key> keys;  // keys[0] stands for the start of the arguments
  std::vector<ValueType> columns;
  bool has_arguments = false;
  unsigned kept = 0;       // columns of the envelope, see `Kept`
  bool is_untimed = false; // its events need no time
  bool needs_text = false; // its values are taken from the text of each piece
};

struct GroupRows {
  std::vector<int32_t> rows;
  std::vector<int32_t> starts, ends;  // where the arguments stand in the text; -1 without any
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<double>> floats;
  std::vector<std::vector<int32_t>> codes;
  // By column: the row that has a value last, and the rank of its name.  Columns reach up to that
  // row while a piece is scanned, and are as long as `rows` in the end, but for those without any.
  std::vector<int32_t> last_row, last_rank;
  std::vector<int32_t> marked, unknown;
  bool odd = false;

  bool has_values(size_t column) const { return last_row[column] >= 0; }
};

// Columns of a group over several pieces.
struct RunGroup {
  size_t count = 0;
  Column<int32_t> index, phase, category, name, pid, tid;
  Column<int64_t> ts_ns, dur_ns, ids;
  std::vector<Column<int64_t>> ints;
  std::vector<Column<double>> floats;
  std::vector<Column<int32_t>> codes;
};

// Columns of the envelope that a group has use for.
enum Kept : unsigned {
  kKeepPhase = 1, kKeepCategory = 2, kKeepName = 4, kKeepPid = 8, kKeepTid = 16, kKeepTs = 32,
  kKeepDur = 64, kKeepIds = 128
};

struct Scanner : JsonText {
  uint64_t seed = 0;
  Vocabulary vocabularies[kVocabularies];
  std::vector<GroupPlan> groups;
  // By the text of a category in small letters, or of a phase.
  std::vector<std::pair<std::string, int8_t>> categories, phases;
  int8_t other_category = 0, no_category = 0, dropped = 0, instant = 0, memory = 0, flow = 0;
  std::string memory_name, slice_phase;
  std::vector<int8_t> group_of_category, group_of_phase;  // by code, filled as codes appear
  bool busy = false;

  // One piece.
  std::vector<int32_t> phase, category, name, pid, tid;
  std::vector<int64_t> ts_ns, dur_ns, ids;
  std::vector<int8_t> place;
  std::vector<GroupRows> rows;
  int32_t envelope_followers[16] = {0};
  bool has_odd_event = false;  // one that is counted as damaged, or left out

  // Pieces that followed one another, as one.
  std::vector<RunGroup> run;
  size_t run_events = 0;

  // Whether the piece is as pieces are: nothing in it has to be decoded or counted elsewhere.
  bool is_even() const {
    if (has_odd_event) return false;
    // Places in a run are counted in 32 bits.
    if (run_events > static_cast<size_t>(std::numeric_limits<int32_t>::max()) - phase.size()) {
      return false;
    }
    for (size_t group = 0; group < groups.size(); ++group) {
      if (rows[group].rows.empty()) continue;
      if (rows[group].odd || groups[group].needs_text) return false;
    }
    return true;
  }
  void add_to_run();
  void end_run();

  // The columns of a piece; where it is refused, nothing of it stays in the vocabularies.
  void scan(const char* text, size_t size);

 private:
  void scan_piece(const char* text, size_t size);
  // Whether the text between quotes here is a word; it is behind it then.
  bool is_quoted(const Vocabulary::Word& word) {
    const size_t length = word.text.size();
    if (static_cast<size_t>(end - at_) < length + 2 || *at_ != '"' || at_[length + 1] != '"' ||
        !word.is_as_written || !same_bytes(at_ + 1, word.text.data(), length)) {
      return false;
    }
    at_ += length + 2;
    return true;
  }

  const Vocabulary::Word* guessed(VocabularyId id, int32_t code) const {
    const auto& words = vocabularies[id].words();
    // A word of a piece that was refused may be gone.
    if (code < 0 || static_cast<size_t>(code) >= words.size()) return nullptr;
    return &words[static_cast<size_t>(code)];
  }

  // Most events are in the lane of the event before.
  int32_t lane_after(int32_t& last) {
    const Vocabulary::Word* word = guessed(kLanes, last);
    if (word != nullptr) {
      if (!word->is_number) {
        if (is_quoted(*word)) return last;
      } else if (static_cast<size_t>(end - at_) > word->text.size() &&
                 same_bytes(at_, word->text.data(), word->text.size())) {
        const char c = at_[word->text.size()];
        if (!is_digit(c) && c != '.' && c != 'e' && c != 'E') {
          at_ += word->text.size();
          return last;
        }
      }
    }
    const int32_t code = lane();
    if (code >= 0) last = code;
    return code;
  }

  int32_t text_after(VocabularyId id, Guess& guess) {
    const int32_t expected = guess.code();
    const Vocabulary::Word* word = guessed(id, expected);
    if (word != nullptr && is_quoted(*word)) {
      guess.confirm(expected);
      return expected;
    }
    const int32_t code = text_or_null(id);
    guess.learn(code);
    return code;
  }

  // A number or a text; null is missing.
  int32_t lane() {
    const char c = peek();
    if (c == '"') return vocabularies[kLanes].code_of(string(), false, seed);
    if (c == 'n') {
      word("null");
      return kNullCode;
    }
    if (c != '-' && (c < '0' || c > '9')) refuse();
    const Number value = number();
    int64_t unused;
    if (!small_integer(value, unused)) refuse();
    const string_view text = value.text == "-0" ? string_view("0") : value.text;
    return vocabularies[kLanes].code_of(text, true, seed);
  }

  int32_t text_or_null(VocabularyId id) {
    if (peek() == 'n') {
      word("null");
      return kNullCode;
    }
    return vocabularies[id].code_of(string(), false, seed);
  }

  bool is_slice_of(int32_t phase_code, int64_t dur) const {
    if (phase_code < 0) return dur != kNullInt;
    return vocabularies[kPhases].words()[static_cast<size_t>(phase_code)].text == slice_phase;
  }
  int8_t group_of(int32_t phase_code, int32_t category_code, int64_t dur, int32_t name_code);
  void place_category(int32_t code);
  void place_phase(int32_t code);
  void event();
  void arguments(GroupRows& target, GroupPlan& plan, bool is_given);
  bool argument(GroupRows& target, Key& matched);
  int32_t raw_text(Guess& guess);

  // The number of a key; the one that came after the last one, or the next, is tried first.
  size_t key_of(GroupPlan& plan, size_t previous);
  template <typename T>
  static void set(GroupRows& target, std::vector<T>& column, T value, T missing);

  Guess phase_guess_, category_guess_, name_guess_;
  int32_t last_pid_ = kNullCode, last_tid_ = kNullCode;
};

constexpr size_t kCheckedAhead = 64 * 1024;

// ---- one event -----------------------------------------------------------------------------------

enum EnvelopeKey { kStart, kPh, kCat, kName, kPid, kTid, kTs, kDur, kId, kArgs, kOther };
constexpr string_view kEnvelopeKeys[] = {"", "ph", "cat", "name", "pid", "tid", "ts", "dur", "id",
                                         "args"};

inline EnvelopeKey envelope_key(string_view text) {
  for (int i = kPh; i <= kArgs; ++i) {
    if (kEnvelopeKeys[i] == text) return static_cast<EnvelopeKey>(i);
  }
  return kOther;
}

inline void Scanner::place_category(int32_t code) {
  const string_view text = vocabularies[kCategories].words()[static_cast<size_t>(code)].text;
  std::string lowered(text);
  int8_t group = other_category;
  for (char& c : lowered) {
    if (static_cast<unsigned char>(c) >= 0x80) refuse();  // its small letters are Python's affair
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (lowered.empty()) group = no_category;
  for (const auto& [known, known_group] : categories) {
    if (known == lowered) group = known_group;
  }
  group_of_category.push_back(group);
}

inline void Scanner::place_phase(int32_t code) {
  const string_view text = vocabularies[kPhases].words()[static_cast<size_t>(code)].text;
  int8_t group = dropped;
  for (const auto& [known, known_group] : phases) {
    if (known == text) group = known_group;
  }
  group_of_phase.push_back(group);
}

inline int8_t Scanner::group_of(int32_t phase_code, int32_t category_code, int64_t dur,
                         int32_t name_code) {
  const auto text = [this](VocabularyId id, int32_t code) {
    return vocabularies[id].words()[static_cast<size_t>(code)].text;
  };
  while (group_of_category.size() < vocabularies[kCategories].words().size()) {
    place_category(static_cast<int32_t>(group_of_category.size()));
  }
  while (group_of_phase.size() < vocabularies[kPhases].words().size()) {
    place_phase(static_cast<int32_t>(group_of_phase.size()));
  }
  if (is_slice_of(phase_code, dur)) {
    return category_code < 0 ? no_category : group_of_category[static_cast<size_t>(category_code)];
  }
  const int8_t group =
      phase_code < 0 ? dropped : group_of_phase[static_cast<size_t>(phase_code)];
  if (group == instant && name_code >= 0 && text(kNames, name_code) == memory_name) return memory;
  return group;
}

inline void Scanner::event() {
  int32_t phase_code = kNullCode, category_code = kNullCode, name_code = kNullCode;
  int32_t pid_code = kNullCode, tid_code = kNullCode;
  int64_t ts = kNullInt, dur = kNullInt, id = kNullInt;
  bool is_odd_id = false;
  const char* args = nullptr;
  const char* args_end = nullptr;
  int8_t decided = -1;
  unsigned seen = 0;
  expect('{');
  skip_space();
  if (peek() == '}') {
    ++at_;
  } else {
    int previous = kStart;
    for (;;) {
      skip_space();
      // Profilers write the keys of an event in one order.
      int which = envelope_followers[previous];
      const string_view guess = which < kOther ? kEnvelopeKeys[which] : string_view();
      const size_t length = guess.size();
      if (length && static_cast<size_t>(end - at_) > length + 2 && at_[0] == '"' &&
          at_[length + 1] == '"' && same_bytes(at_ + 1, guess.data(), length)) {
        at_ += length + 2;
      } else {
        which = envelope_key(key());
        envelope_followers[previous] = which;
      }
      previous = which;
      skip_space();
      expect(':');
      skip_space();
      if (which != kOther) {
        if (seen & 1u << which) refuse();  // given twice: the last one counts, elsewhere
        if (decided >= 0 && which <= kName) refuse();  // the group may be another one
        seen |= 1u << which;
      }
      switch (which) {
        case kPh: phase_code = text_after(kPhases, phase_guess_); break;
        case kCat: category_code = text_after(kCategories, category_guess_); break;
        case kName: name_code = text_after(kNames, name_guess_); break;
        case kPid: pid_code = lane_after(last_pid_); break;
        case kTid: tid_code = lane_after(last_tid_); break;
        case kTs: ts = time(); break;
        case kDur: dur = time(); break;
        case kId: {
          const char c = peek();
          if (c == '-' || (c >= '0' && c <= '9')) {
            if (!small_integer(number(), id)) is_odd_id = true;
          } else if (c == 'n') {
            word("null");
          } else {
            is_odd_id = true;
            string();
          }
          break;
        }
        case kArgs: {
          args = at_;
          // What decides on the group usually stands before the arguments.
          const unsigned needed = 1u << kPh | 1u << kCat | 1u << kName;
          const bool is_clear =
              (seen & needed) == needed ||
              ((seen & 1u << kPh) && phase_code >= 0 &&
               vocabularies[kPhases].words()[static_cast<size_t>(phase_code)].text != slice_phase &&
               (seen & 1u << kName));
          if (is_clear && phase_code >= 0) {
            decided = group_of(phase_code, category_code, dur, name_code);
            GroupRows& target = rows[static_cast<size_t>(decided)];
            target.rows.push_back(static_cast<int32_t>(phase.size()));
            arguments(target, groups[static_cast<size_t>(decided)], true);
            target.starts.push_back(static_cast<int32_t>(args - begin));
            target.ends.push_back(static_cast<int32_t>(at_ - begin));
          } else {
            skip_value();
          }
          args_end = at_;
          break;
        }
        default: skip_value();
      }
      skip_space();
      const char c = peek();
      ++at_;
      if (c == '}') break;
      if (c != ',') refuse();
    }
  }
  const int8_t group =
      decided >= 0 ? decided : group_of(phase_code, category_code, dur, name_code);
  if (group == flow && is_odd_id) refuse();
  if (group == dropped || (ts == kNullInt && !groups[static_cast<size_t>(group)].is_untimed)) {
    has_odd_event = true;
  }
  const bool is_slice = is_slice_of(phase_code, dur);
  if (is_slice && (dur < 0 || name_code < 0)) has_odd_event = true;
  const int32_t row = static_cast<int32_t>(phase.size());
  phase.push_back(phase_code);
  category.push_back(category_code);
  name.push_back(name_code);
  pid.push_back(pid_code);
  tid.push_back(tid_code);
  ts_ns.push_back(ts);
  dur_ns.push_back(dur);
  ids.push_back(id);
  place.push_back(group);
  if (decided >= 0) return;
  GroupRows& target = rows[static_cast<size_t>(group)];
  target.rows.push_back(row);
  target.starts.push_back(args ? static_cast<int32_t>(args - begin) : -1);
  target.ends.push_back(args ? static_cast<int32_t>(args_end - begin) : -1);
  const char* after = at_;
  if (args) at_ = args;
  arguments(target, groups[static_cast<size_t>(group)], args != nullptr);
  at_ = after;
}

// From the start of the arguments to behind them, into the last row of a group.
inline void Scanner::arguments(GroupRows& target, GroupPlan& plan, bool is_given) {
  if (!plan.has_arguments) {
    if (is_given) skip_value();
    return;
  }
  if (!is_given) return;
  if (target.odd || peek() != '{') {
    target.odd = true;
    skip_value();
    return;
  }
  ++at_;
  skip_space();
  bool is_unknown = false;
  if (peek() == '}') {
    ++at_;
  } else {
    size_t previous = 0;
    for (;;) {
      skip_space();
      const size_t which = key_of(plan, previous);
      skip_space();
      expect(':');
      skip_space();
      if (which == 0) {
        is_unknown = true;
        skip_value();
      } else {
        previous = which;
        if (!argument(target, plan.keys[which])) target.odd = true;
        // The rest is checked as far as JSON goes, and decoded elsewhere.
      }
      skip_space();
      const char c = peek();
      ++at_;
      if (c == '}') break;
      if (c != ',') refuse();
    }
  }
  if (is_unknown) target.unknown.push_back(static_cast<int32_t>(target.rows.size()) - 1);
}

inline size_t Scanner::key_of(GroupPlan& plan, size_t previous) {
  const size_t left = static_cast<size_t>(end - at_);
  size_t guess = previous;
  for (int tries = 0; tries < 3; ++tries) {  // one that few events have may be left out
    guess = static_cast<size_t>(plan.keys[guess].follower);
    if (guess == 0) break;
    const std::string& text = plan.keys[guess].text;
    const size_t length = text.size();
    if (left > length + 2 && at_[0] == '"' && at_[length + 1] == '"' &&
        same_bytes(at_ + 1, text.data(), length)) {
      at_ += length + 2;
      return guess;
    }
  }
  const string_view text = key();
  for (size_t which = 1; which < plan.keys.size(); ++which) {
    const std::string& other = plan.keys[which].text;
    if (other.size() == text.size() && same_bytes(other.data(), text.data(), text.size())) {
      plan.keys[previous].follower = static_cast<int32_t>(which);
      return which;
    }
  }
  return 0;
}

// The value of the last row in a column, rows without one before it filled.
template <typename T>
inline void Scanner::set(GroupRows& target, std::vector<T>& column, T value, T missing) {
  const size_t row = target.rows.size() - 1;
  if (column.size() > row) {
    column[row] = value;
    return;
  }
  if (column.size() < row) column.resize(row, missing);
  column.push_back(value);
}

// A value as it is written, checked, as a text of the vocabulary.
inline int32_t Scanner::raw_text(Guess& guess) {
  const int32_t expected = guess.code();
  const Vocabulary::Word* word = guessed(kTexts, expected);
  if (word != nullptr) {
    // Only what ends where its last character stands: strings, lists and objects.
    const size_t length = word->text.size();
    const char c = length ? word->text.front() : '\0';
    if ((c == '"' || c == '[' || c == '{') && static_cast<size_t>(end - at_) >= length &&
        same_bytes(at_, word->text.data(), length)) {
      at_ += length;
      guess.confirm(expected);
      return expected;
    }
  }
  const char* start = at_;
  skip_value();
  const int32_t code = vocabularies[kTexts].code_of(
      string_view(start, static_cast<size_t>(at_ - start)), false, seed);
  guess.learn(code);
  return code;
}

// The value of a known argument; false where it is of a type that its column does not take.
inline bool Scanner::argument(GroupRows& target, Key& matched) {
  const size_t column = matched.column < 0 ? 0 : static_cast<size_t>(matched.column);
  if (matched.type <= kText) {
    const int32_t row = static_cast<int32_t>(target.rows.size()) - 1;
    const int32_t rank = target.last_row[column] == row ? target.last_rank[column]
                                                        : std::numeric_limits<int32_t>::max();
    if (rank == matched.rank) refuse();  // twice: the last one counts, elsewhere
    if (rank < matched.rank) {
      // An earlier name of the same column was given; the value must still be of the type.
      const char* start = at_;
      skip_value();
      if (matched.type == kText) return true;
      const char c = *start;
      if (c == 'n') return true;
      if (c == '"') return matched.type == kLane;
      if (c != '-' && (c < '0' || c > '9')) return false;
      const string_view text(start, static_cast<size_t>(at_ - start));
      return matched.type == kFloat || text.find_first_of(".eE") == string_view::npos;
    }
    const char c = peek();
    const bool is_number = c == '-' || (c >= '0' && c <= '9');
    switch (matched.type) {
      case kInt: {
        int64_t value = kNullInt;
        if (is_number) {
          if (!plain_integer(value) && !small_integer(number(), value)) return false;
        } else if (c == 'n') {
          word("null");
        } else {
          skip_value();
          return false;
        }
        set(target, target.ints[column], value, kNullInt);
        break;
      }
      case kFloat: {
        double value = std::numeric_limits<double>::quiet_NaN();
        if (is_number) {
          if (!to_double(number().text, value)) return false;
        } else if (c == 'n') {
          word("null");
        } else {
          skip_value();
          return false;
        }
        set(target, target.floats[column], value, std::numeric_limits<double>::quiet_NaN());
        break;
      }
      case kLane: {
        if (c == 'n') {
          word("null");
          return true;  // as if it were not given
        }
        if (!is_number && c != '"') {
          skip_value();
          return false;
        }
        set(target, target.codes[column], lane(), kNullCode);
        break;
      }
      default: {
        set(target, target.codes[column], raw_text(matched.guess), kNullCode);
      }
    }
    target.last_row[column] = row;
    target.last_rank[column] = matched.rank;
    return true;
  }
  skip_value();
  if (matched.type == kPacked) return false;
  if (matched.type == kMarker) {
    const int32_t row = static_cast<int32_t>(target.rows.size()) - 1;
    if (target.marked.empty() || target.marked.back() != row) target.marked.push_back(row);
  }
  return true;
}

// ---- one piece -----------------------------------------------------------------------------------

inline void Scanner::scan(const char* text, size_t size) {
  Vocabulary::State earlier[kVocabularies];
  for (int id = 0; id < kVocabularies; ++id) earlier[id] = vocabularies[id].state();
  try {
    scan_piece(text, size);
  } catch (...) {
    for (int id = 0; id < kVocabularies; ++id) vocabularies[id].forget_since(earlier[id]);
    const auto shorten = [](std::vector<int8_t>& groups_of, const Vocabulary& vocabulary) {
      if (groups_of.size() > vocabulary.words().size()) groups_of.resize(vocabulary.words().size());
    };
    shorten(group_of_category, vocabularies[kCategories]);
    shorten(group_of_phase, vocabularies[kPhases]);
    throw;
  }
}

inline void Scanner::scan_piece(const char* text, size_t size) {
  if (size > static_cast<size_t>(std::numeric_limits<int32_t>::max())) refuse();
  begin = at_ = text;
  end = text + size;
  for (auto* column : {&phase, &category, &name, &pid, &tid}) column->clear();
  for (auto* column : {&ts_ns, &dur_ns, &ids}) column->clear();
  place.clear();
  has_float_times = has_large_times = has_odd_event = false;
  rows.resize(groups.size());
  for (size_t group = 0; group < groups.size(); ++group) {
    GroupRows& target = rows[group];
    const size_t count = groups[group].columns.size();
    target.rows.clear();
    target.starts.clear();
    target.ends.clear();
    target.marked.clear();
    target.unknown.clear();
    target.odd = false;
    target.ints.resize(count);
    target.floats.resize(count);
    target.codes.resize(count);
    for (auto& column : target.ints) column.clear();
    for (auto& column : target.floats) column.clear();
    for (auto& column : target.codes) column.clear();
    target.last_row.assign(count, -1);
    target.last_rank.assign(count, 0);
  }
  checked_ = begin;
  skip_space();
  expect('[');
  skip_space();
  if (peek() == ']') {
    ++at_;
  } else {
    for (;;) {
      skip_space();
      check_utf8(kCheckedAhead);
      event();
      skip_space();
      const char c = peek();
      ++at_;
      if (c == ']') break;
      if (c != ',') refuse();
    }
  }
  skip_space();
  if (at_ != end) refuse();
  refuse_bad_utf8(end);
  if (has_float_times && has_large_times) refuse();
  for (size_t group = 0; group < groups.size(); ++group) {
    GroupRows& target = rows[group];
    const size_t count = target.rows.size();
    for (size_t column = 0; column < groups[group].columns.size(); ++column) {
      if (!target.has_values(column)) continue;
      switch (groups[group].columns[column]) {
        case kInt: target.ints[column].resize(count, kNullInt); break;
        case kFloat:
          target.floats[column].resize(count, std::numeric_limits<double>::quiet_NaN());
          break;
        default: target.codes[column].resize(count, kNullCode);
      }
    }
  }
}

// ---- pieces that follow one another --------------------------------------------------------------

inline void Scanner::add_to_run() {
  run.resize(groups.size());
  for (size_t group = 0; group < groups.size(); ++group) {
    const GroupPlan& plan = groups[group];
    const GroupRows& piece = rows[group];
    RunGroup& whole = run[group];
    const size_t more = piece.rows.size();
    const auto take = [&piece, more](auto& column, const auto& values) {
      auto* target = column.extend(more);
      for (const int32_t row : piece.rows) *target++ = values[static_cast<size_t>(row)];
    };
    const int32_t first = static_cast<int32_t>(run_events);
    int32_t* index = whole.index.extend(more);
    for (const int32_t row : piece.rows) *index++ = first + row;
    if (plan.kept & kKeepPhase) take(whole.phase, phase);
    if (plan.kept & kKeepCategory) take(whole.category, category);
    if (plan.kept & kKeepName) take(whole.name, name);
    if (plan.kept & kKeepPid) take(whole.pid, pid);
    if (plan.kept & kKeepTid) take(whole.tid, tid);
    if (plan.kept & kKeepTs) take(whole.ts_ns, ts_ns);
    if (plan.kept & kKeepDur) take(whole.dur_ns, dur_ns);
    if (plan.kept & kKeepIds) take(whole.ids, ids);
    const size_t count = plan.columns.size();
    whole.ints.resize(count);
    whole.floats.resize(count);
    whole.codes.resize(count);
    for (size_t column = 0; column < count; ++column) {
      if (!piece.has_values(column)) continue;
      switch (plan.columns[column]) {
        case kInt: whole.ints[column].append(piece.ints[column], whole.count, kNullInt); break;
        case kFloat:
          whole.floats[column].append(piece.floats[column], whole.count,
                                      std::numeric_limits<double>::quiet_NaN());
          break;
        default: whole.codes[column].append(piece.codes[column], whole.count, kNullCode);
      }
    }
    whole.count += more;
  }
  run_events += phase.size();
}

inline void Scanner::end_run() {
  run.clear();
  run_events = 0;
}

}  // namespace timesink
