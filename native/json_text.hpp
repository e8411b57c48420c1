// JSON text, read strictly and within its bounds: what is damaged or unusual is refused.

#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "vocabulary.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace timesink {

constexpr int64_t kNullInt = std::numeric_limits<int64_t>::min();
constexpr int kMaxDepth = 256;
// Below this a float64 of microseconds still tells neighbouring nanoseconds apart.
constexpr double kExactFloatLimitUs = 8796093022208.0;
constexpr int64_t kLargestUs = 9000000000000000;  // as nanoseconds it fits 64 bits

struct Refused {};

class JsonText {
 public:
  const char* begin = nullptr;
  const char* end = nullptr;
  bool has_float_times = false, has_large_times = false;

 protected:
  const char* at_ = nullptr;
  std::string unescaped_;

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
    unescaped_.clear();
    for (size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c != '\\') {
        unescaped_.push_back(c);
        ++i;
        continue;
      }
      const char kind = text[i + 1];
      i += 2;
      switch (kind) {
        case 'b': unescaped_.push_back('\b'); break;
        case 'f': unescaped_.push_back('\f'); break;
        case 'n': unescaped_.push_back('\n'); break;
        case 'r': unescaped_.push_back('\r'); break;
        case 't': unescaped_.push_back('\t'); break;
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
        default: unescaped_.push_back(kind);
      }
    }
    return unescaped_;
  }

  void push_utf8(unsigned value) {
    const auto push = [this](unsigned byte) { unescaped_.push_back(static_cast<char>(byte)); };
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

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

  // A whole number of up to 18 digits, as most are.
  bool plain_integer(int64_t& result) {
    const char* at = at_;
    const char* stop = end - at > 20 ? at + 20 : end;
    const bool negative = at < stop && *at == '-';
    if (negative) ++at;
    const char* start = at;
    int64_t sum = 0;
    while (at < stop && is_digit(*at) && at - start < 18) sum = sum * 10 + (*at++ - '0');
    if (at == start || at == stop || (*start == '0' && at - start > 1)) return false;
    if (is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E') return false;
    result = negative ? -sum : sum;
    at_ = at;
    return true;
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
    if (at_ < end && *at_ == '"') {
      ++at_;
      string_view inside;
      pass_string(inside);
      return;
    }
    skip_any_value();
  }

  void skip_any_value() {
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

  // What is no UTF-8 is mended elsewhere.  A stretch at a time, just before it is read: it is in the
  // cache then.  What is read before its turn is refused with the rest.
  const char* checked_ = nullptr;
  void check_utf8(size_t ahead) {
    if (at_ < checked_) return;
    const size_t left = static_cast<size_t>(end - at_);
    refuse_bad_utf8(at_ + (left < ahead ? left : ahead));
  }
  void refuse_bad_utf8(const char* until);
};

inline void JsonText::refuse_bad_utf8(const char* until) {
  const unsigned char* at = reinterpret_cast<const unsigned char*>(checked_);
  const unsigned char* stop = reinterpret_cast<const unsigned char*>(until);
  const unsigned char* last = reinterpret_cast<const unsigned char*>(end);
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
    if (at >= stop) break;
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
    if (last - at <= more) refuse();
    for (int i = 1; i <= more; ++i) {
      if ((at[i] & 0xc0) != 0x80) refuse();
      value = value << 6 | (at[i] & 0x3f);
    }
    if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) refuse();
    at += more + 1;
  }
  checked_ = reinterpret_cast<const char*>(at);
}

}  // namespace timesink
