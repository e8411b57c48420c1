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

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace timesink {

using std::string_view;

constexpr int64_t kNullInt = std::numeric_limits<int64_t>::min();
constexpr int32_t kNullCode = -1;
constexpr int kMaxDepth = 256;
// Below this a float64 of microseconds still tells neighbouring nanoseconds apart.
constexpr double kExactFloatLimitUs = 8796093022208.0;
constexpr int64_t kLargestUs = 9000000000000000;  // as nanoseconds it fits 64 bits

// ---- texts numbered in order of appearance ------------------------------------------------------

inline uint64_t load64(const char* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline uint32_t load32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Whether two texts of a length are the same: most are shorter than a call of memcmp is worth.
__attribute__((always_inline)) inline bool same_bytes(const char* a, const char* b, size_t count) {
  if (count >= 8) {
    size_t at = 0;
    for (; at + 8 <= count; at += 8) {
      if (load64(a + at) != load64(b + at)) return false;
    }
    return load64(a + count - 8) == load64(b + count - 8);
  }
  if (count >= 4) {
    return load32(a) == load32(b) && load32(a + count - 4) == load32(b + count - 4);
  }
  for (size_t at = 0; at < count; ++at) {
    if (a[at] != b[at]) return false;
  }
  return true;
}

inline uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 wide;
  const wide product = static_cast<wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hash_of(string_view text, uint64_t seed) {
  const char* at = text.data();
  size_t left = text.size();
  uint64_t state = seed ^ (left * 0x9e3779b97f4a7c15ULL);
  while (left >= 8) {
    state = mix(state ^ load64(at), 0xa0761d6478bd642fULL ^ seed);
    at += 8;
    left -= 8;
  }
  uint64_t tail = 0;
  std::memcpy(&tail, at, left);
  return mix(state ^ tail, 0xe7037ed1a0b428dbULL ^ (seed << 1 | 1));
}

class Vocabulary {
 public:
  int32_t code_of(string_view text, bool is_number, uint64_t seed) {
    if ((words_.size() + 1) * 2 > slots_.size()) grow();
    const uint64_t hash = hash_of(text, seed) ^ (is_number ? 0x5bd1e995ULL : 0);
    size_t place = hash & mask_;
    while (slots_[place].code >= 0) {
      if (slots_[place].hash == hash) {
        const Word& word = words_[static_cast<size_t>(slots_[place].code)];
        if (word.is_number == is_number && word.text.size() == text.size() &&
            same_bytes(word.text.data(), text.data(), text.size())) {
          return slots_[place].code;
        }
      }
      place = (place + 1) & mask_;
    }
    if (words_.size() >= static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      throw std::length_error("too many texts");
    }
    const int32_t code = static_cast<int32_t>(words_.size());
    words_.push_back({keep(text), hash, is_number, stands_as_written(text)});
    slots_[place] = {hash, code};
    return code;
  }

  struct Word {
    string_view text;
    uint64_t hash;
    bool is_number;
    bool is_as_written;  // in JSON, between quotes, it is these very bytes
  };
  const std::vector<Word>& words() const { return words_; }

  struct State {
    size_t words, blocks, left;
    char* at;
  };
  State state() const { return {words_.size(), blocks_.size(), left_, at_}; }

  // Without the words that came since: no later word stands in front of an earlier one, so taking
  // them out from the last on leaves every chain of slots as it was.
  void forget_since(const State& earlier) {
    while (words_.size() > earlier.words) {
      const int32_t code = static_cast<int32_t>(words_.size()) - 1;
      size_t place = words_.back().hash & mask_;
      while (slots_[place].code != code) place = (place + 1) & mask_;
      slots_[place] = Slot();
      words_.pop_back();
    }
    blocks_.resize(earlier.blocks);
    at_ = earlier.at;
    left_ = earlier.left;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    int32_t code = -1;
  };

  static bool stands_as_written(string_view text) {
    for (const char c : text) {
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return false;
    }
    return true;
  }

  string_view keep(string_view text) {
    if (text.empty()) return string_view();
    if (text.size() > left_) {
      const size_t size = text.size() > block_ ? text.size() : block_;
      if (block_ < kLargestBlock) block_ *= 4;
      blocks_.emplace_back(new char[size]);
      at_ = blocks_.back().get();
      left_ = size;
    }
    std::memcpy(at_, text.data(), text.size());
    const string_view kept(at_, text.size());
    at_ += text.size();
    left_ -= text.size();
    return kept;
  }

  void grow() {
    const size_t size = slots_.empty() ? 128 : slots_.size() * 2;
    std::vector<Slot> larger(size);
    mask_ = size - 1;
    for (size_t code = 0; code < words_.size(); ++code) {  // in the order in which they came
      size_t place = words_[code].hash & mask_;
      while (larger[place].code >= 0) place = (place + 1) & mask_;
      larger[place] = {words_[code].hash, static_cast<int32_t>(code)};
    }
    slots_.swap(larger);
  }

  static constexpr size_t kLargestBlock = 256 * 1024;
  size_t block_ = 4 * 1024;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  std::vector<Word> words_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* at_ = nullptr;
  size_t left_ = 0;
};

// Which word comes next, going by the one that followed the last one before: programs repeat
// themselves, and comparing a text is cheaper than finding its end and its number.
class Guess {
 public:
  int32_t code() const {
    return previous_ >= 0 && static_cast<size_t>(previous_) < followers_.size()
               ? followers_[static_cast<size_t>(previous_)]
               : kNullCode;
  }
  void learn(int32_t code) {
    if (code < 0) return;
    if (previous_ >= 0) {
      const size_t place = static_cast<size_t>(previous_);
      if (place >= followers_.size()) followers_.resize(place + place / 2 + 16, kNullCode);
      followers_[place] = code;
    }
    previous_ = code;
  }
  void confirm(int32_t code) { previous_ = code; }

 private:
  int32_t previous_ = kNullCode;
  std::vector<int32_t> followers_;
};

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
  std::vector<int32_t> index, phase, category, name, pid, tid;
  std::vector<int64_t> ts_ns, dur_ns, ids;
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<double>> floats;
  std::vector<std::vector<int32_t>> codes;
};

// Columns of the envelope that a group has use for.
enum Kept : unsigned {
  kKeepPhase = 1, kKeepCategory = 2, kKeepName = 4, kKeepPid = 8, kKeepTid = 16, kKeepTs = 32,
  kKeepDur = 64, kKeepIds = 128
};

struct Refused {};

struct Scanner {
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
  const char* begin = nullptr;
  const char* end = nullptr;
  std::vector<int32_t> phase, category, name, pid, tid;
  std::vector<int64_t> ts_ns, dur_ns, ids;
  std::vector<int8_t> place;
  std::vector<GroupRows> rows;
  std::string unescaped;
  int32_t envelope_followers[16] = {0};
  bool has_float_times = false, has_large_times = false;
  bool has_odd_event = false;  // one that is counted as damaged, or left out

  // Pieces that followed one another, as one.
  std::vector<RunGroup> run;
  size_t run_events = 0;

  // Whether the piece is as pieces are: nothing in it has to be decoded or counted elsewhere.
  bool is_even() const {
    if (has_odd_event) return false;
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
  const char* at_ = nullptr;

  [[noreturn]] static void refuse() { throw Refused(); }

  __attribute__((always_inline)) void skip_space() {
    if (at_ < end && static_cast<unsigned char>(*at_) > ' ') return;
    if (end - at_ >= 2 && *at_ == ' ' && static_cast<unsigned char>(at_[1]) > ' ') {
      ++at_;
      return;
    }
    skip_indent();
  }
  void skip_indent() {
#if defined(__SSE2__)
    while (end - at_ >= 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
      const __m128i blank = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
      const __m128i line = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')),
                                        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')),
                                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'))));
      const unsigned others = ~static_cast<unsigned>(
                                  _mm_movemask_epi8(_mm_or_si128(blank, line))) & 0xffffu;
      if (others) {
        at_ += __builtin_ctz(others);
        return;
      }
      at_ += 16;
    }
#endif
    while (at_ < end && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  char peek() {
    if (at_ >= end) refuse();
    return *at_;
  }
  void expect(char c) {
    if (at_ >= end || *at_ != c) refuse();
    ++at_;
  }

  // From behind the opening quote to behind the closing one; whether a backslash was there.
  bool pass_string(string_view& inside) {
    const char* start = at_;
    bool escaped = false;
    for (;;) {
#if defined(__SSE2__)
      while (end - at_ >= 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
        const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        const int found = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control));
        if (found == 0) {
          at_ += 16;
          continue;
        }
        at_ += __builtin_ctz(static_cast<unsigned>(found));
        break;
      }
#endif
      while (at_ < end && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) {
        ++at_;
      }
      if (at_ >= end) refuse();
      if (*at_ == '"') {
        inside = string_view(start, static_cast<size_t>(at_ - start));
        ++at_;
        return escaped;
      }
      if (*at_ != '\\' || end - at_ < 2) refuse();  // a control character
      escaped = true;
      switch (at_[1]) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
          at_ += 2;
          break;
        case 'u':
          pass_unicode();
          break;
        default:
          refuse();
      }
    }
  }

  unsigned hex4(const char* digits) {
    if (end - digits < 4) refuse();
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = digits[i];
      unsigned digit = 0;
      if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
      else if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
      else if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
      else refuse();
      value = value * 16 + digit;
    }
    return value;
  }

  void pass_unicode() {
    const unsigned value = hex4(at_ + 2);
    at_ += 6;
    if (value >= 0xd800 && value <= 0xdfff) {
      // Only whole pairs: a lone surrogate is mended elsewhere.
      if (value >= 0xdc00 || end - at_ < 6 || at_[0] != '\\' || at_[1] != 'u') refuse();
      const unsigned low = hex4(at_ + 2);
      if (low < 0xdc00 || low > 0xdfff) refuse();
      at_ += 6;
    }
  }

  string_view without_escapes(string_view text) {
    unescaped.clear();
    for (size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c != '\\') {
        unescaped.push_back(c);
        ++i;
        continue;
      }
      const char kind = text[i + 1];
      i += 2;
      switch (kind) {
        case 'b': unescaped.push_back('\b'); break;
        case 'f': unescaped.push_back('\f'); break;
        case 'n': unescaped.push_back('\n'); break;
        case 'r': unescaped.push_back('\r'); break;
        case 't': unescaped.push_back('\t'); break;
        case 'u': {
          unsigned value = hex4(text.data() + i);
          i += 4;
          if (value >= 0xd800 && value <= 0xdbff) {
            const unsigned low = hex4(text.data() + i + 2);
            value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
          }
          push_utf8(value);
          break;
        }
        default: unescaped.push_back(kind);
      }
    }
    return unescaped;
  }

  void push_utf8(unsigned value) {
    const auto push = [this](unsigned byte) { unescaped.push_back(static_cast<char>(byte)); };
    if (value < 0x80) {
      push(value);
    } else if (value < 0x800) {
      push(0xc0 | value >> 6);
      push(0x80 | (value & 0x3f));
    } else if (value < 0x10000) {
      push(0xe0 | value >> 12);
      push(0x80 | (value >> 6 & 0x3f));
      push(0x80 | (value & 0x3f));
    } else {
      push(0xf0 | value >> 18);
      push(0x80 | (value >> 12 & 0x3f));
      push(0x80 | (value >> 6 & 0x3f));
      push(0x80 | (value & 0x3f));
    }
  }

  string_view string() {
    expect('"');
    string_view inside;
    return pass_string(inside) ? without_escapes(inside) : inside;
  }

  // The text of a key as it is written; keys with escapes are refused.
  string_view key() {
    expect('"');
    string_view inside;
    if (pass_string(inside)) refuse();
    return inside;
  }

  struct Number {
    string_view text;
    bool is_integer;
  };

  Number number() {
    const char* start = at_;
    bool is_integer = true;
    if (at_ < end && *at_ == '-') ++at_;
    if (at_ >= end) refuse();
    if (*at_ == '0') {
      ++at_;
    } else {
      digits();
    }
    if (at_ < end && *at_ == '.') {
      is_integer = false;
      ++at_;
      digits();
    }
    if (at_ < end && (*at_ == 'e' || *at_ == 'E')) {
      is_integer = false;
      ++at_;
      if (at_ < end && (*at_ == '+' || *at_ == '-')) ++at_;
      digits();
    }
    return {string_view(start, static_cast<size_t>(at_ - start)), is_integer};
  }

  void digits() {
    const char* start = at_;
    while (at_ < end && *at_ >= '0' && *at_ <= '9') ++at_;
    if (at_ == start) refuse();
  }

  void word(string_view literal) {
    if (static_cast<size_t>(end - at_) < literal.size() ||
        string_view(at_, literal.size()) != literal) {
      refuse();
    }
    at_ += literal.size();
  }

  // Any value, checked, without looking at it.
  void skip_value() {
    int depth = 0;
    uint8_t is_object[kMaxDepth];
    for (;;) {
      skip_space();
      switch (peek()) {
        case '"': {
          ++at_;
          string_view inside;
          pass_string(inside);
          break;
        }
        case '{':
        case '[': {
          const bool object = *at_ == '{';
          ++at_;
          skip_space();
          if (peek() == (object ? '}' : ']')) {
            ++at_;
            break;
          }
          if (depth == kMaxDepth) refuse();
          is_object[depth++] = object;
          if (object) skip_key();
          continue;
        }
        case 't': word("true"); break;
        case 'f': word("false"); break;
        case 'n': word("null"); break;
        default: number();
      }
      // Behind a value: what holds it goes on, or ends.
      for (;;) {
        if (depth == 0) return;
        skip_space();
        const char c = peek();
        ++at_;
        if (c == ',') {
          if (is_object[depth - 1]) {
            skip_space();
            skip_key();
          }
          break;
        }
        if (c != (is_object[depth - 1] ? '}' : ']')) refuse();
        --depth;
      }
    }
  }

  void skip_key() {
    expect('"');
    string_view inside;
    pass_string(inside);
    skip_space();
    expect(':');
  }

  static bool small_integer(const Number& value, int64_t& result) {
    // "-0" is 0, as in Python; 18 digits surely fit.
    string_view text = value.text;
    const bool negative = text.front() == '-';
    if (negative) text.remove_prefix(1);
    if (!value.is_integer || text.size() > 18) return false;
    int64_t sum = 0;
    for (const char c : text) sum = sum * 10 + (c - '0');
    result = negative ? -sum : sum;
    return true;
  }

  static bool to_double(string_view text, double& result) {
    const auto outcome = std::from_chars(text.data(), text.data() + text.size(), result);
    return outcome.ec == std::errc() && outcome.ptr == text.data() + text.size() &&
           std::isfinite(result);
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  // A time as profilers write it: up to 16 digits, and up to three behind a point.
  bool plain_time(int64_t& ns) {
    if (end - at_ < 24) return false;
    const char* at = at_;
    const bool negative = *at == '-';
    if (negative) ++at;
    const char* start = at;
    int64_t whole = 0;
    while (at - start < 17 && is_digit(*at)) whole = whole * 10 + (*at++ - '0');
    const auto length = at - start;
    if (length == 0 || length > 16 || (length > 1 && *start == '0') || whole >= kLargestUs) {
      return false;
    }
    ns = whole * 1000;
    if (*at == '.') {
      ++at;
      if (!is_digit(*at)) return false;
      int64_t unit = 100;
      for (int i = 0; i < 3 && is_digit(*at); ++i) {
        ns += (*at++ - '0') * unit;
        unit /= 10;
      }
    }
    if (is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E') return false;
    if (whole >= static_cast<int64_t>(kExactFloatLimitUs)) has_large_times = true;
    if (negative) ns = -ns;
    at_ = at;
    return true;
  }

  int64_t time() {
    int64_t plain = 0;
    if (plain_time(plain)) return plain;
    const char first = peek();
    if (first != '-' && (first < '0' || first > '9')) refuse();
    const Number value = number();
    string_view text = value.text;
    const bool negative = text.front() == '-';
    if (negative) text.remove_prefix(1);
    size_t point = 0;
    int64_t whole = 0;
    while (point < text.size() && text[point] >= '0' && text[point] <= '9' && point < 17) {
      whole = whole * 10 + (text[point++] - '0');
    }
    const bool ends = point == text.size();
    if ((ends || text[point] == '.') && point <= 16 && whole < kLargestUs) {
      const string_view decimals = ends ? string_view() : text.substr(point + 1);
      if (decimals.size() <= 3 && decimals.find_first_of("eE") == string_view::npos) {
        int64_t ns = whole * 1000;
        int64_t unit = 100;
        for (const char c : decimals) {
          ns += (c - '0') * unit;
          unit /= 10;
        }
        if (static_cast<double>(whole) >= kExactFloatLimitUs) has_large_times = true;
        return negative ? -ns : ns;
      }
    }
    double us = 0;
    if (!to_double(value.text, us) || std::fabs(us) >= kExactFloatLimitUs) refuse();
    has_float_times = true;
    const double floor_us = std::floor(us);
    return static_cast<int64_t>(floor_us) * 1000 +
           static_cast<int64_t>(std::nearbyint((us - floor_us) * 1000));
  }

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
  void refuse_bad_utf8() const;

  // The number of a key; the one that came after the last one, or the next, is tried first.
  size_t key_of(GroupPlan& plan, size_t previous);
  template <typename T>
  static void set(GroupRows& target, std::vector<T>& column, T value, T missing);

  Guess phase_guess_, category_guess_, name_guess_;
  int32_t last_pid_ = kNullCode, last_tid_ = kNullCode;
};

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
          if (!small_integer(number(), value)) return false;
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

inline void Scanner::refuse_bad_utf8() const {
  const unsigned char* at = reinterpret_cast<const unsigned char*>(begin);
  const unsigned char* stop = reinterpret_cast<const unsigned char*>(end);
  while (at < stop) {
#if defined(__SSE2__)
    while (stop - at >= 64) {
      const __m128i* from = reinterpret_cast<const __m128i*>(at);
      const __m128i any = _mm_or_si128(
          _mm_or_si128(_mm_loadu_si128(from), _mm_loadu_si128(from + 1)),
          _mm_or_si128(_mm_loadu_si128(from + 2), _mm_loadu_si128(from + 3)));
      if (_mm_movemask_epi8(any)) break;
      at += 64;
    }
#endif
    while (stop - at >= 8 && (load64(reinterpret_cast<const char*>(at)) & 0x8080808080808080ULL) == 0)
      at += 8;
    if (at >= stop) return;
    const unsigned c = *at;
    if (c < 0x80) {
      ++at;
      continue;
    }
    int more = 0;
    unsigned least = 0, value = 0;
    if (c >= 0xc2 && c <= 0xdf) { more = 1; least = 0x80; value = c & 0x1f; }
    else if (c >= 0xe0 && c <= 0xef) { more = 2; least = 0x800; value = c & 0x0f; }
    else if (c >= 0xf0 && c <= 0xf4) { more = 3; least = 0x10000; value = c & 0x07; }
    else refuse();
    if (stop - at <= more) refuse();
    for (int i = 1; i <= more; ++i) {
      if ((at[i] & 0xc0) != 0x80) refuse();
      value = value << 6 | (at[i] & 0x3f);
    }
    if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) refuse();
    at += more + 1;
  }
}

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
  refuse_bad_utf8();
  skip_space();
  expect('[');
  skip_space();
  if (peek() == ']') {
    ++at_;
  } else {
    for (;;) {
      skip_space();
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

template <typename T>
inline void append(std::vector<T>& column, const std::vector<T>& more, size_t before, T missing) {
  column.resize(before, missing);
  column.insert(column.end(), more.begin(), more.end());
}

inline void Scanner::add_to_run() {
  run.resize(groups.size());
  for (size_t group = 0; group < groups.size(); ++group) {
    const GroupPlan& plan = groups[group];
    const GroupRows& piece = rows[group];
    RunGroup& whole = run[group];
    const auto take = [&piece](auto& column, const auto& values) {
      for (const int32_t row : piece.rows) column.push_back(values[static_cast<size_t>(row)]);
    };
    const int32_t first = static_cast<int32_t>(run_events);
    for (const int32_t row : piece.rows) whole.index.push_back(first + row);
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
        case kInt: append(whole.ints[column], piece.ints[column], whole.count, kNullInt); break;
        case kFloat:
          append(whole.floats[column], piece.floats[column], whole.count,
                 std::numeric_limits<double>::quiet_NaN());
          break;
        default: append(whole.codes[column], piece.codes[column], whole.count, kNullCode);
      }
    }
    whole.count += piece.rows.size();
  }
  run_events += phase.size();
}

inline void Scanner::end_run() {
  for (RunGroup& whole : run) {
    whole.count = 0;
    for (auto* column : {&whole.index, &whole.phase, &whole.category, &whole.name, &whole.pid,
                         &whole.tid}) {
      column->clear();
    }
    for (auto* column : {&whole.ts_ns, &whole.dur_ns, &whole.ids}) column->clear();
    for (auto& column : whole.ints) column.clear();
    for (auto& column : whole.floats) column.clear();
    for (auto& column : whole.codes) column.clear();
  }
  run_events = 0;
}

}  // namespace timesink
