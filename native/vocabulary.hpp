// Texts numbered in order of appearance, and guesses at the one that comes next.

#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace timesink {

using std::string_view;

constexpr int32_t kNullCode = -1;

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

}  // namespace timesink
