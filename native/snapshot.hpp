// Memory snapshots, from pickle to columns, without a Python object per event.
//
// A pickle is a program; this is an interpreter of the few instructions that make plain values.
// Events become rows of columns as soon as they are put into their list, call stacks become
// numbers.  Whatever is unusual (another instruction, an odd type, an event that is changed later)
// makes it refuse the file: the Python path then reads it, repairs it or says what is wrong.
//
// Input is untrusted: every read is within bounds, nothing nests in the stack of the machine.

#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json_text.hpp"
#include "vocabulary.hpp"

namespace timesink {

constexpr size_t kLargestText = 16 * 1024 * 1024;
constexpr size_t kMostFrames = 512;   // of a stack; deeper ones lose their outermost
constexpr size_t kMostMarks = 512;    // levels that are open at once
// Texts, lists, dictionaries and tuples are bounded by the bytes that were read, as in
// `formats/plain_pickle`: one byte makes a list of fifty, and snapshots have 15 or more for each.
constexpr uint64_t kMostFreeValues = 1 << 19;
constexpr uint64_t kLeastBytesPerValue = 12;
constexpr uint16_t kMostTuples = 512;  // within one another
constexpr uint32_t kNothing = std::numeric_limits<uint32_t>::max();

enum PlainType : uint8_t {
  kNone, kFalse, kTrue, kInteger, kUnsigned, kReal, kString, kList, kDict, kTuple
};

struct Plain {
  PlainType type = kNone;
  union {
    int64_t integer;
    double real;
    uint64_t place;  // of a text, a list, a dictionary or a tuple
  };
  Plain() : integer(0) {}
  static Plain of(PlainType type, uint64_t place = 0) {
    Plain value;
    value.type = type;
    value.place = place;
    return value;
  }
  static Plain number(int64_t number) {
    Plain value;
    value.type = kInteger;
    value.integer = number;
    return value;
  }
};

// Words that are asked for, in the order in which they are numbered.
enum Word : int32_t {
  kWordAction, kWordAddr, kWordSize, kWordStream, kWordTime, kWordFrames, kWordMetadata,
  kWordDeviceFree, kWordName, kWordFilename, kWordLine, kWordSegments, kWordTraces, kWords
};
constexpr const char* kWordTexts[kWords] = {
    "action", "addr", "size", "stream", "time_us", "frames", "user_metadata", "device_free",
    "name", "filename", "line", "segments", "device_traces"};

struct PlainList {
  std::vector<Plain> items;
  uint32_t events = kNothing;  // which columns its events are in
  uint32_t stack = kNothing;   // its number, where its frames were taken
};

struct PlainDict {
  std::vector<std::pair<int32_t, Plain>> items;
  uint32_t frame = kNothing;  // its number, where it is part of a stack
  bool is_taken = false;      // it was an event, and is empty now
};

struct EventRows {
  std::vector<uint8_t> action;
  std::vector<uint64_t> address, size, stream, time_us;
  std::vector<uint32_t> stack;
  std::vector<int32_t> note;
};

struct Frame {
  int32_t name, file;  // texts; -1 without
  int64_t line;
  bool operator==(const Frame& other) const {
    return name == other.name && file == other.file && line == other.line;
  }
};

// Sequences of equal length or not, each numbered once: a hash table of numbers.
class NumberTable {
 public:
  template <typename IsEqual>
  uint32_t number_of(uint64_t hash, uint32_t next, IsEqual is_equal) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    size_t place = hash & mask_;
    while (slots_[place].number != kNothing) {
      if (slots_[place].hash == hash && is_equal(slots_[place].number)) {
        return slots_[place].number;
      }
      place = (place + 1) & mask_;
    }
    slots_[place] = {hash, next};
    ++count_;
    return next;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t number = kNothing;
  };
  void grow() {
    std::vector<Slot> larger(slots_.empty() ? 256 : slots_.size() * 2);
    mask_ = larger.size() - 1;
    for (const Slot& slot : slots_) {
      if (slot.number == kNothing) continue;
      size_t place = slot.hash & mask_;
      while (larger[place].number != kNothing) place = (place + 1) & mask_;
      larger[place] = slot;
    }
    slots_.swap(larger);
  }
  std::vector<Slot> slots_;
  size_t mask_ = 0, count_ = 0;
};

class SnapshotReader {
 public:
  // `actions` are the words of an event's action, in the order of their codes; without any nothing
  // is an event, and values stay what they are.
  SnapshotReader(uint64_t seed, const std::vector<std::string>& actions)
      : is_plain(actions.empty()), seed_(seed | 1) {
    for (const char* text : kWordTexts) texts.code_of(text, false, seed_);
    for (size_t code = 0; code < actions.size(); ++code) {
      const int32_t word = texts.code_of(actions[code], false, seed_);
      if (static_cast<size_t>(word) >= action_of_.size()) {
        action_of_.resize(static_cast<size_t>(word) + 1, kNoAction);
      }
      action_of_[static_cast<size_t>(word)] = static_cast<uint8_t>(code);
    }
    stack_starts.push_back(0);
    stack_starts.push_back(0);  // stack 0 has no frames
  }

  // Goes on with further bytes; whether the pickle ended.  Throws `Refused`.
  bool feed(const char* data, size_t size) {
    if (is_done) return true;
    if (rest_.empty()) {
      run(data, data + size);
    } else {
      rest_.append(data, size);
      std::string all;
      all.swap(rest_);
      run(all.data(), all.data() + all.size());
    }
    return is_done;
  }

  // The number of the stack that a list of frames is.
  uint32_t stack_number(uint64_t place) {
    PlainList& list = lists[place];
    if (list.stack != kNothing) return list.stack;
    if (list.events != kNothing) throw Refused();
    numbers_.clear();
    for (const Plain& item : list.items) {
      if (item.type != kDict) throw Refused();
      if (numbers_.size() < kMostFrames) numbers_.push_back(frame_number(item.place));
    }
    if (numbers_.empty()) return list.stack = 0;
    uint64_t hash = seed_;
    for (const uint32_t number : numbers_) hash = mix(hash ^ number, 0xa0761d6478bd642fULL);
    const uint32_t next = static_cast<uint32_t>(stack_starts.size()) - 1;
    const uint32_t number = stacks_.number_of(hash, next, [&](uint32_t stack) {
      const size_t start = stack_starts[stack], count = stack_starts[stack + 1] - start;
      return count == numbers_.size() &&
             std::memcmp(&stack_frames[start], numbers_.data(), count * sizeof(uint32_t)) == 0;
    });
    if (number == next) {
      stack_frames.insert(stack_frames.end(), numbers_.begin(), numbers_.end());
      stack_starts.push_back(static_cast<int64_t>(stack_frames.size()));
    }
    list.stack = number;
    std::vector<Plain>().swap(list.items);
    return number;
  }

  const bool is_plain;
  Vocabulary texts;
  std::vector<PlainList> lists;
  std::vector<PlainDict> dicts;
  std::vector<std::vector<Plain>> tuples;
  std::vector<EventRows> events;
  std::vector<Frame> frames;
  std::vector<uint32_t> stack_frames;
  std::vector<int64_t> stack_starts;
  Plain result;
  bool is_done = false;
  bool is_busy = false;

 private:
  static constexpr uint8_t kNoAction = 0xff;

  static uint64_t little(const char* at, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(at[i])) << (8 * i);
    }
    return value;
  }

  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  const Plain& top() const {
    if (stack_.size() <= floor()) throw Refused();
    return stack_.back();
  }

  // Where the values since the last mark begin; the mark is gone then.
  size_t close() {
    if (marks_.empty()) throw Refused();
    const size_t start = marks_.back();
    marks_.pop_back();
    return start;
  }

  void recall(uint64_t place) {
    if (place >= memo_.size()) throw Refused();
    const Plain value = memo_[place];
    if (value.type == kDict && dicts[value.place].is_taken) throw Refused();
    stack_.push_back(value);
  }

  void put(uint64_t place) {
    if (place > memo_.size()) throw Refused();  // today's writers number without gaps
    if (place == memo_.size()) {
      memo_.push_back(top());
    } else {
      memo_[place] = top();
    }
  }

  void run(const char* at, const char* end) {
    while (at < end) {
      const uint8_t code = static_cast<uint8_t>(*at);
      const char* next = step(at, end);
      if (next == nullptr) {  // the rest of it is still to come
        rest_.assign(at, static_cast<size_t>(end - at));
        return;
      }
      read_ += static_cast<uint64_t>(next - at);
      if (is_building(code) && ++built_ > kMostFreeValues + read_ / kLeastBytesPerValue) {
        throw Refused();
      }
      if (is_done) return;
      at = next;
    }
  }

  static bool is_building(uint8_t code) {
    switch (code) {
      case '}':
      case ']':
      case ')':
      case 't':
      case 'X':
      case 0x85:
      case 0x86:
      case 0x87:
      case 0x8c:
        return true;
      default:
        return false;
    }
  }

  const char* step(const char* at, const char* end) {
    const size_t left = static_cast<size_t>(end - at) - 1;
    const uint8_t code = static_cast<uint8_t>(*at++);
    switch (code) {
      case 0x80:  // protocol
        return left < 1 ? nullptr : (static_cast<uint8_t>(*at) > 5 ? throw Refused() : at + 1);
      case 0x95:  // frame
        return left < 8 ? nullptr : at + 8;
      case '(':
        if (marks_.size() >= kMostMarks) throw Refused();
        marks_.push_back(stack_.size());
        return at;
      case '}':
        stack_.push_back(Plain::of(kDict, dicts.size()));
        dicts.emplace_back();
        return at;
      case ']':
        stack_.push_back(Plain::of(kList, lists.size()));
        lists.emplace_back();
        return at;
      case ')':
        stack_.push_back(Plain::of(kTuple, tuples.size()));
        tuples.emplace_back();
        tuple_depths_.push_back(1);
        return at;
      case 0x94:
        memo_.push_back(top());
        return at;
      case 'q':
        if (left < 1) return nullptr;
        put(static_cast<uint8_t>(*at));
        return at + 1;
      case 'r':
        if (left < 4) return nullptr;
        put(little(at, 4));
        return at + 4;
      case 'h':
        if (left < 1) return nullptr;
        recall(static_cast<uint8_t>(*at));
        return at + 1;
      case 'j':
        if (left < 4) return nullptr;
        recall(little(at, 4));
        return at + 4;
      case 'N':
        stack_.push_back(Plain());
        return at;
      case 0x88:
        stack_.push_back(Plain::of(kTrue));
        return at;
      case 0x89:
        stack_.push_back(Plain::of(kFalse));
        return at;
      case 'K':
        if (left < 1) return nullptr;
        stack_.push_back(Plain::number(static_cast<uint8_t>(*at)));
        return at + 1;
      case 'M':
        if (left < 2) return nullptr;
        stack_.push_back(Plain::number(static_cast<int64_t>(little(at, 2))));
        return at + 2;
      case 'J':
        if (left < 4) return nullptr;
        stack_.push_back(Plain::number(static_cast<int32_t>(static_cast<uint32_t>(little(at, 4)))));
        return at + 4;
      case 0x8a:
        return push_long(at, left);
      case 'G': {
        if (left < 8) return nullptr;
        uint64_t bits = 0;
        for (size_t i = 0; i < 8; ++i) bits = bits << 8 | static_cast<uint8_t>(at[i]);
        Plain value;
        value.type = kReal;
        std::memcpy(&value.real, &bits, sizeof bits);
        stack_.push_back(value);
        return at + 8;
      }
      case 0x8c:
        return left < 1 ? nullptr : push_text(at + 1, left - 1, static_cast<uint8_t>(*at));
      case 'X':
        return left < 4 ? nullptr : push_text(at + 4, left - 4, little(at, 4));
      case 0x85:
      case 0x86:
      case 0x87: {
        const size_t count = code - 0x84u;
        if (stack_.size() < floor() + count) throw Refused();
        push_tuple(stack_.size() - count);
        return at;
      }
      case 't':
        push_tuple(close());
        return at;
      case 'e':
        append_from(close());
        return at;
      case 'a':
        if (stack_.size() < floor() + 2) throw Refused();
        append_from(stack_.size() - 1);
        return at;
      case 'u':
        set_from(close());
        return at;
      case 's':
        if (stack_.size() < floor() + 3) throw Refused();
        set_from(stack_.size() - 2);
        return at;
      case '.':
        result = top();
        is_done = true;
        return at;
      default:
        throw Refused();
    }
  }

  const char* push_text(const char* at, size_t left, uint64_t length) {
    if (length > kLargestText) throw Refused();
    if (left < length) return nullptr;
    const int32_t code =
        texts.code_of(string_view(at, static_cast<size_t>(length)), false, seed_);
    stack_.push_back(Plain::of(kString, static_cast<uint64_t>(code)));
    return at + length;
  }

  const char* push_long(const char* at, size_t left) {
    if (left < 1) return nullptr;
    const size_t size = static_cast<uint8_t>(*at++);
    if (left < 1 + size) return nullptr;
    if (size > 9 || (size == 9 && at[8] != 0)) throw Refused();
    const size_t used = size == 9 ? 8 : size;
    uint64_t value = little(at, used);
    const bool is_negative = size > 0 && size < 9 && (at[size - 1] & 0x80) != 0;
    if (is_negative && size < 8) value |= ~uint64_t{0} << (8 * size);
    if (!is_negative && value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      stack_.push_back(Plain::of(kUnsigned, value));
    } else {
      stack_.push_back(Plain::number(static_cast<int64_t>(value)));
    }
    return at + size;
  }

  void push_tuple(size_t start) {
    uint16_t depth = 1;
    for (size_t i = start; i < stack_.size(); ++i) {
      if (stack_[i].type != kTuple) continue;
      const uint16_t inner = tuple_depths_[stack_[i].place];
      if (inner >= kMostTuples) throw Refused();
      if (inner >= depth) depth = static_cast<uint16_t>(inner + 1);
    }
    tuple_depths_.push_back(depth);
    tuples.emplace_back(stack_.begin() + static_cast<std::ptrdiff_t>(start), stack_.end());
    stack_.resize(start);
    stack_.push_back(Plain::of(kTuple, tuples.size() - 1));
  }

  void append_from(size_t start) {
    if (start <= floor() || stack_[start - 1].type != kList) throw Refused();
    const size_t place = stack_[start - 1].place;
    PlainList& list = lists[place];
    if (list.stack != kNothing) throw Refused();  // it was taken, and would change
    for (size_t i = start; i < stack_.size(); ++i) {
      const Plain value = stack_[i];
      if (!is_plain && value.type == kDict && is_event(dicts[value.place])) {
        if (!list.items.empty()) throw Refused();
        if (list.events == kNothing) {
          list.events = static_cast<uint32_t>(events.size());
          events.emplace_back();
        }
        take_event(dicts[value.place], events[list.events]);
      } else {
        if (list.events != kNothing) throw Refused();
        list.items.push_back(value);
      }
    }
    stack_.resize(start);
  }

  void set_from(size_t start) {
    if (start <= floor() || stack_[start - 1].type != kDict) throw Refused();
    PlainDict& dict = dicts[stack_[start - 1].place];
    if (dict.is_taken || dict.frame != kNothing || (stack_.size() - start) % 2) throw Refused();
    dict.items.reserve(dict.items.size() + (stack_.size() - start) / 2);
    for (size_t i = start; i < stack_.size(); i += 2) {
      if (stack_[i].type != kString) throw Refused();
      dict.items.emplace_back(static_cast<int32_t>(stack_[i].place), stack_[i + 1]);
    }
    stack_.resize(start);
  }

  static bool is_event(const PlainDict& dict) {
    for (const auto& item : dict.items) {
      if (item.first == kWordAction) return true;
    }
    return dict.is_taken;
  }

  static uint64_t count_of(const Plain& value) {
    if (value.type == kUnsigned) return value.place;
    if (value.type != kInteger || value.integer < 0) throw Refused();
    return static_cast<uint64_t>(value.integer);
  }

  void take_event(PlainDict& dict, EventRows& rows) {
    if (dict.is_taken || dict.frame != kNothing) throw Refused();
    const Plain* given[kWords] = {};
    for (const auto& item : dict.items) {  // of a key that is given twice, the last counts
      if (item.first < kWords) given[item.first] = &item.second;
    }
    const Plain& action = *given[kWordAction];
    if (action.type != kString || action.place >= action_of_.size() ||
        action_of_[action.place] == kNoAction) {
      throw Refused();
    }
    const Plain* address = given[kWordAddr] != nullptr ? given[kWordAddr] : given[kWordDeviceFree];
    const Plain* stream = given[kWordStream];
    if (stream != nullptr && (stream->type == kTrue || stream->type == kFalse)) throw Refused();
    const bool has_stream =
        stream != nullptr && (stream->type == kUnsigned ||
                              (stream->type == kInteger && stream->integer >= 0));
    const Plain* stack = given[kWordFrames];
    const Plain* note = given[kWordMetadata];
    // All of them first: a row is written as a whole or not at all.
    const uint64_t at = address == nullptr ? 0 : count_of(*address);
    const uint64_t size = given[kWordSize] == nullptr ? 0 : count_of(*given[kWordSize]);
    const uint64_t time = given[kWordTime] == nullptr ? 0 : count_of(*given[kWordTime]);
    uint32_t number = 0;
    if (stack != nullptr && stack->type == kList) {
      number = stack_number(stack->place);
    } else if (stack != nullptr && stack->type != kNone) {
      throw Refused();
    }
    rows.action.push_back(action_of_[action.place]);
    rows.address.push_back(at);
    rows.size.push_back(size);
    rows.stream.push_back(has_stream ? count_of(*stream) : 0);
    rows.time_us.push_back(time);
    rows.stack.push_back(number);
    rows.note.push_back(
        note != nullptr && note->type == kString ? static_cast<int32_t>(note->place) : -1);
    std::vector<std::pair<int32_t, Plain>>().swap(dict.items);
    dict.is_taken = true;
  }

  uint32_t frame_number(uint64_t place) {
    PlainDict& dict = dicts[place];
    if (dict.frame != kNothing) return dict.frame;
    if (dict.is_taken) throw Refused();
    Frame frame{-1, -1, 0};
    for (const auto& item : dict.items) {
      const Plain& value = item.second;
      if (item.first == kWordName) {
        frame.name = value.type == kString ? static_cast<int32_t>(value.place) : -1;
      } else if (item.first == kWordFilename) {
        frame.file = value.type == kString ? static_cast<int32_t>(value.place) : -1;
      } else if (item.first == kWordLine) {
        if (value.type == kUnsigned || value.type == kTrue || value.type == kFalse) throw Refused();
        frame.line = value.type == kInteger ? value.integer : 0;
      }
    }
    uint64_t hash = mix(seed_ ^ static_cast<uint32_t>(frame.name), 0xa0761d6478bd642fULL);
    hash = mix(hash ^ static_cast<uint32_t>(frame.file), 0xe7037ed1a0b428dbULL);
    hash = mix(hash ^ static_cast<uint64_t>(frame.line), 0x9e3779b97f4a7c15ULL);
    const uint32_t next = static_cast<uint32_t>(frames.size());
    dict.frame =
        frame_table_.number_of(hash, next, [&](uint32_t other) { return frames[other] == frame; });
    if (dict.frame == next) frames.push_back(frame);
    return dict.frame;
  }

  uint64_t seed_;
  uint64_t read_ = 0, built_ = 0;
  std::string rest_;
  std::vector<Plain> stack_, memo_;
  std::vector<size_t> marks_;
  std::vector<uint8_t> action_of_;
  std::vector<uint16_t> tuple_depths_;
  std::vector<uint32_t> numbers_;
  NumberTable frame_table_, stacks_;
};

}  // namespace timesink
