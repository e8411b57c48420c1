// The reader of memory snapshots as functions of Python.  Included by module.cpp, after its helpers.

#pragma once

#include <unordered_map>

#include "snapshot.hpp"

namespace {

constexpr const char* kSnapshotCapsule = "timesink.snapshot";
constexpr int kMostLevels = 64;

SnapshotReader* snapshot_of(PyObject* capsule) {
  return static_cast<SnapshotReader*>(PyCapsule_GetPointer(capsule, kSnapshotCapsule));
}

void destroy_snapshot(PyObject* capsule) { delete snapshot_of(capsule); }

// snapshot_reader(seed, [actions]) -> reader
PyObject* snapshot_reader(PyObject*, PyObject* args) {
  unsigned long long seed = 0;
  PyObject* list = nullptr;
  if (!PyArg_ParseTuple(args, "KO!", &seed, &PyList_Type, &list)) return nullptr;
  try {
    std::vector<std::string> actions(static_cast<size_t>(PyList_Size(list)));
    for (size_t i = 0; i < actions.size(); ++i) {
      if (!text_of(PyList_GetItem(list, static_cast<Py_ssize_t>(i)), actions[i])) return nullptr;
    }
    return PyCapsule_New(new SnapshotReader(seed, actions), kSnapshotCapsule, destroy_snapshot);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

// snapshot_feed(reader, bytes) -> whether the pickle ended; None where it is unusual
PyObject* snapshot_feed(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *bytes = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &capsule, &bytes)) return nullptr;
  SnapshotReader* reader = snapshot_of(capsule);
  if (reader == nullptr) return nullptr;
  char* content = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &content, &size) != 0) return nullptr;
  if (reader->is_busy) {
    PyErr_SetString(PyExc_RuntimeError, "a reader reads one piece at a time");
    return nullptr;
  }
  reader->is_busy = true;
  bool is_done = false, is_refused = false, has_memory = true;
  Py_BEGIN_ALLOW_THREADS
  try {
    is_done = reader->feed(content, static_cast<size_t>(size));
  } catch (const std::bad_alloc&) {
    has_memory = false;
  } catch (...) {
    is_refused = true;
  }
  Py_END_ALLOW_THREADS
  reader->is_busy = false;
  if (!has_memory) return PyErr_NoMemory();
  if (is_refused) {
    Py_INCREF(Py_None);
    return Py_None;
  }
  return PyBool_FromLong(is_done);
}

// Plain values as objects of Python: each list, dictionary and tuple once, stacks as their numbers.
// Once, because a few bytes that refer to one value twice, level by level, stand for billions.
class Objects {
 public:
  explicit Objects(SnapshotReader& reader) : reader_(reader), texts_(reader.texts.words().size()) {}
  ~Objects() {
    for (PyObject* text : texts_) Py_XDECREF(text);
    for (auto* objects : {&lists_, &dicts_, &tuples_}) {
      for (auto& entry : *objects) Py_DECREF(entry.second);
    }
  }

  // A new reference; null with an error of Python, or throws `Refused`.
  PyObject* object(const Plain& value, int level) {
    if (level > kMostLevels) throw Refused();
    switch (value.type) {
      case kNone:
        Py_INCREF(Py_None);
        return Py_None;
      case kFalse:
      case kTrue:
        return PyBool_FromLong(value.type == kTrue);
      case kInteger:
        return PyLong_FromLongLong(value.integer);
      case kUnsigned:
        return PyLong_FromUnsignedLongLong(value.place);
      case kReal:
        return PyFloat_FromDouble(value.real);
      case kString:
        return text(static_cast<int32_t>(value.place));
      case kList:
        return list(value.place, level);
      case kDict:
        return dictionary(value.place, level);
      case kTuple:
        return tuple(value.place, level);
    }
    throw Refused();
  }

  PyObject* text(int32_t code) {
    PyObject*& existing = texts_[static_cast<size_t>(code)];
    if (existing == nullptr) {
      const string_view word = reader_.texts.words()[static_cast<size_t>(code)].text;
      existing = PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()),
                                   "surrogatepass");
      if (existing == nullptr) {
        PyErr_Clear();
        throw Refused();
      }
    }
    Py_INCREF(existing);
    return existing;
  }

 private:
  using ObjectOfPlace = std::unordered_map<uint64_t, PyObject*>;

  static PyObject* again(PyObject* object) {
    Py_INCREF(object);
    return object;
  }

  PyObject* list(uint64_t place, int level) {
    const auto existing = lists_.find(place);
    if (existing != lists_.end()) return again(existing->second);
    if (reader_.lists[place].events != kNothing) throw Refused();
    if (reader_.lists[place].stack != kNothing) throw Refused();  // its frames are gone
    PyObject* result = PyList_New(0);
    if (result == nullptr) return nullptr;
    lists_.emplace(place, result);
    // By number: an item may name this very list as its frames, whose items are gone then.
    for (size_t i = 0; i < reader_.lists[place].items.size(); ++i) {
      const Plain item = reader_.lists[place].items[i];
      if (!give(result, object(item, level + 1))) return nullptr;
      if (reader_.lists[place].stack != kNothing) throw Refused();
    }
    return again(result);
  }

  PyObject* dictionary(uint64_t place, int level) {
    const auto existing = dicts_.find(place);
    if (existing != dicts_.end()) return again(existing->second);
    if (reader_.dicts[place].is_taken) throw Refused();
    PyObject* result = PyDict_New();
    if (result == nullptr) return nullptr;
    dicts_.emplace(place, result);
    for (const auto& item : reader_.dicts[place].items) {
      if (!reader_.is_plain && level == 0 && item.first == kWordTraces) continue;
      PyObject* key = text(item.first);
      PyObject* value = nullptr;
      try {
        if (reader_.is_plain || item.first != kWordFrames) {
          value = object(item.second, level + 1);
        } else if (item.second.type == kList) {
          value = PyLong_FromUnsignedLong(reader_.stack_number(item.second.place));
        } else {
          throw Refused();
        }
      } catch (...) {
        Py_DECREF(key);
        throw;
      }
      const int failed = value == nullptr ? -1 : PyDict_SetItem(result, key, value);
      Py_DECREF(key);
      Py_XDECREF(value);
      if (failed != 0) return nullptr;
    }
    return again(result);
  }

  PyObject* tuple(uint64_t place, int level) {
    const auto existing = tuples_.find(place);
    if (existing != tuples_.end()) return again(existing->second);
    const std::vector<Plain>& items = reader_.tuples[place];
    PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(items.size()));
    if (result == nullptr) return nullptr;
    for (size_t i = 0; i < items.size(); ++i) {
      PyObject* item = nullptr;
      try {
        item = object(items[i], level + 1);
      } catch (...) {
        Py_DECREF(result);
        throw;
      }
      if (item == nullptr || PyTuple_SetItem(result, static_cast<Py_ssize_t>(i), item) != 0) {
        Py_DECREF(result);
        return nullptr;
      }
    }
    // One that holds itself, through a list, is here already.
    if (!tuples_.emplace(place, result).second) return result;
    return again(result);
  }

  SnapshotReader& reader_;
  std::vector<PyObject*> texts_;
  ObjectOfPlace lists_, dicts_, tuples_;
};

// The lists of events of each device: numbers of columns, -1 for an empty list.
std::vector<int64_t> trace_numbers(const SnapshotReader& reader) {
  if (reader.result.type != kDict) throw Refused();
  const Plain *traces = nullptr, *segments = nullptr;
  for (const auto& item : reader.dicts[reader.result.place].items) {
    if (item.first == kWordTraces) traces = &item.second;
    if (item.first == kWordSegments) segments = &item.second;
  }
  if (traces == nullptr || traces->type != kList || segments == nullptr ||
      segments->type != kList || reader.lists[traces->place].events != kNothing ||
      reader.lists[traces->place].stack != kNothing) {
    throw Refused();
  }
  std::vector<int64_t> numbers;
  for (const Plain& trace : reader.lists[traces->place].items) {
    if (trace.type != kList) throw Refused();
    const PlainList& list = reader.lists[trace.place];
    if (list.stack != kNothing || !list.items.empty()) throw Refused();
    numbers.push_back(list.events == kNothing ? -1 : static_cast<int64_t>(list.events));
  }
  return numbers;
}

// Owns references until they are handed over.
struct Owned {
  PyObject* object = nullptr;
  explicit Owned(PyObject* given) : object(given) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object); }
  PyObject* release() {
    PyObject* given = object;
    object = nullptr;
    return given;
  }
};

PyObject* event_columns(const EventRows& rows) {
  return Py_BuildValue("NNNNNNN", bytes_of(rows.action), bytes_of(rows.address),
                       bytes_of(rows.size), bytes_of(rows.stream), bytes_of(rows.time_us),
                       bytes_of(rows.stack), bytes_of(rows.note));
}

// A text by its code, None for -1; gives a new reference, or null.
PyObject* text_or_none(Objects& objects, int32_t code) {
  if (code >= 0) return objects.text(code);
  Py_INCREF(Py_None);
  return Py_None;
}

PyObject* snapshot_parts(SnapshotReader& reader) {
  const std::vector<int64_t> traces = trace_numbers(reader);
  Objects objects(reader);
  for (size_t code = 0; code < reader.texts.words().size(); ++code) {
    Owned text(objects.text(static_cast<int32_t>(code)));  // refused where it is no UTF-8
  }
  Owned value(objects.object(reader.result, 0));
  if (value.object == nullptr) return nullptr;
  Owned columns(PyList_New(0)), frames(PyList_New(0)), notes(PyDict_New());
  if (!columns.object || !frames.object || !notes.object) return nullptr;
  for (const EventRows& rows : reader.events) {
    if (!give(columns.object, event_columns(rows))) return nullptr;
    for (const int32_t note : rows.note) {
      if (note < 0) continue;
      Owned key(PyLong_FromLong(note)), text(objects.text(note));
      if (!key.object || !text.object) return nullptr;
      if (PyDict_SetItem(notes.object, key.object, text.object) != 0) return nullptr;
    }
  }
  for (const Frame& frame : reader.frames) {
    Owned name(text_or_none(objects, frame.name)), file(text_or_none(objects, frame.file));
    if (!name.object || !file.object) return nullptr;
    PyObject* item = Py_BuildValue("OOL", name.object, file.object,
                                   static_cast<long long>(frame.line));
    if (!give(frames.object, item)) return nullptr;
  }
  return Py_BuildValue("NNNNNNN", value.release(), bytes_of(traces), columns.release(),
                       frames.release(), bytes_of(reader.stack_frames),
                       bytes_of(reader.stack_starts), notes.release());
}

// plain_result(reader) -> the value; None where it is unusual
PyObject* plain_result(PyObject*, PyObject* args) {
  PyObject* capsule = nullptr;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return nullptr;
  SnapshotReader* reader = snapshot_of(capsule);
  if (reader == nullptr) return nullptr;
  if (!reader->is_done || reader->is_busy || !reader->is_plain) {
    PyErr_SetString(PyExc_RuntimeError, "the pickle has not ended, or is no plain one");
    return nullptr;
  }
  try {
    Objects objects(*reader);
    for (size_t code = 0; code < reader->texts.words().size(); ++code) {
      Owned text(objects.text(static_cast<int32_t>(code)));  // refused where it is no UTF-8
    }
    return objects.object(reader->result, 0);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (...) {
    if (PyErr_Occurred()) return nullptr;
    Py_INCREF(Py_None);
    return Py_None;
  }
}

// snapshot_result(reader) -> value without events, numbers of the events of each device, columns of
// events, frames as (name, file, line), frames of all stacks, where each begins, notes by number;
// None where it is unusual
PyObject* snapshot_result(PyObject*, PyObject* args) {
  PyObject* capsule = nullptr;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return nullptr;
  SnapshotReader* reader = snapshot_of(capsule);
  if (reader == nullptr) return nullptr;
  if (!reader->is_done || reader->is_busy || reader->is_plain) {
    PyErr_SetString(PyExc_RuntimeError, "the pickle has not ended, or is a plain one");
    return nullptr;
  }
  try {
    return snapshot_parts(*reader);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (...) {
    if (PyErr_Occurred()) return nullptr;
    Py_INCREF(Py_None);
    return Py_None;
  }
}

}  // namespace
