// The compiled part of timesink as a module of Python: what it offers and how values get in and out.
//
// The limited API: one binary serves every Python from 3.10 on.  Arrays travel as bytes.

#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "graph_marks.hpp"
#include "nesting.hpp"
#include "replay.hpp"
#include "scanner.hpp"

namespace {

using namespace timesink;

// ---- the scanner ---------------------------------------------------------------------------------

constexpr const char* kCapsule = "timesink.scanner";

void destroy(PyObject* capsule) {
  delete static_cast<Scanner*>(PyCapsule_GetPointer(capsule, kCapsule));
}

Scanner* scanner_of(PyObject* capsule) {
  return static_cast<Scanner*>(PyCapsule_GetPointer(capsule, kCapsule));
}

bool text_of(PyObject* value, std::string& result) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text == nullptr) return false;
  result.assign(text, static_cast<size_t>(size));
  return true;
}

// groups: [(name, has_arguments, [(key, type, column, rank)], [column types])]
bool read_groups(PyObject* list, Scanner& scanner) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    GroupPlan plan;
    const char* name = nullptr;
    int has_arguments = 0;
    PyObject *keys = nullptr, *columns = nullptr;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "spOO", &name, &has_arguments, &keys,
                          &columns)) {
      return false;
    }
    plan.name = name;
    plan.has_arguments = has_arguments != 0;
    plan.keys.emplace_back();
    for (Py_ssize_t k = 0; k < PyList_Size(keys); ++k) {
      Key entry;
      PyObject* text = nullptr;
      int type = 0, column = 0, rank = 0;
      if (!PyArg_ParseTuple(PyList_GetItem(keys, k), "Oiii", &text, &type, &column, &rank) ||
          !text_of(text, entry.text)) {
        return false;
      }
      entry.type = static_cast<ValueType>(type);
      entry.column = column;
      entry.rank = rank;
      plan.keys.push_back(entry);
    }
    for (Py_ssize_t c = 0; c < PyList_Size(columns); ++c) {
      plan.columns.push_back(
          static_cast<ValueType>(PyLong_AsLong(PyList_GetItem(columns, c))));
    }
    for (const Key& entry : plan.keys) {
      if (entry.type <= kText && entry.column >= static_cast<int32_t>(plan.columns.size())) {
        PyErr_SetString(PyExc_ValueError, "a key of no column");
        return false;
      }
    }
    scanner.groups.push_back(std::move(plan));
  }
  return !PyErr_Occurred();
}

bool read_places(PyObject* list, std::vector<std::pair<std::string, int8_t>>& places,
                 size_t groups) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    PyObject* text = nullptr;
    int group = 0;
    std::string word;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "Oi", &text, &group) || !text_of(text, word)) {
      return false;
    }
    if (group < 0 || static_cast<size_t>(group) >= groups) {
      PyErr_SetString(PyExc_ValueError, "no such group");
      return false;
    }
    places.emplace_back(word, static_cast<int8_t>(group));
  }
  return true;
}

PyObject* make(PyObject*, PyObject* args) {
  unsigned long long seed = 0;
  PyObject *groups = nullptr, *categories = nullptr, *phases = nullptr;
  int other = 0, none = 0, dropped = 0, instant = 0, memory = 0, flow = 0;
  const char *memory_name = nullptr, *slice_phase = nullptr;
  if (!PyArg_ParseTuple(args, "KO!O!O!(iiiiii)ss", &seed, &PyList_Type, &groups, &PyList_Type,
                        &categories, &PyList_Type, &phases, &other, &none, &dropped, &instant,
                        &memory, &flow, &memory_name, &slice_phase)) {
    return nullptr;
  }
  std::unique_ptr<Scanner> scanner(new (std::nothrow) Scanner());
  if (!scanner) return PyErr_NoMemory();
  scanner->seed = seed | 1;
  if (!read_groups(groups, *scanner)) return nullptr;
  const size_t count = scanner->groups.size();
  if (!read_places(categories, scanner->categories, count) ||
      !read_places(phases, scanner->phases, count)) {
    return nullptr;
  }
  for (const int group : {other, none, dropped, instant, memory, flow}) {
    if (group < 0 || static_cast<size_t>(group) >= count) {
      PyErr_SetString(PyExc_ValueError, "no such group");
      return nullptr;
    }
  }
  scanner->other_category = static_cast<int8_t>(other);
  scanner->no_category = static_cast<int8_t>(none);
  scanner->dropped = static_cast<int8_t>(dropped);
  scanner->instant = static_cast<int8_t>(instant);
  scanner->memory = static_cast<int8_t>(memory);
  scanner->flow = static_cast<int8_t>(flow);
  scanner->memory_name = memory_name;
  scanner->slice_phase = slice_phase;
  return PyCapsule_New(scanner.release(), kCapsule, destroy);
}

template <typename T>
PyObject* bytes_of(const std::vector<T>& values) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(values.data()),
                                   static_cast<Py_ssize_t>(values.size() * sizeof(T)));
}

// Appends and gives the reference away; false where anything failed.
bool give(PyObject* list, PyObject* item) {
  if (item == nullptr) return false;
  const int failed = PyList_Append(list, item);
  Py_DECREF(item);
  return failed == 0;
}

PyObject* group_result(const GroupPlan& plan, const GroupRows& rows) {
  PyObject* columns = PyList_New(0);
  if (columns == nullptr) return nullptr;
  for (size_t column = 0; column < plan.columns.size(); ++column) {
    PyObject* values = nullptr;
    if (!plan.has_arguments || rows.odd || !rows.present[column]) {
      Py_INCREF(Py_None);
      values = Py_None;
    } else if (plan.columns[column] == kInt) {
      values = bytes_of(rows.ints[column]);
    } else if (plan.columns[column] == kFloat) {
      values = bytes_of(rows.floats[column]);
    } else {
      values = bytes_of(rows.codes[column]);
    }
    if (!give(columns, values)) {
      Py_DECREF(columns);
      return nullptr;
    }
  }
  // N hands references over, and fails as a whole where one of them is NULL.
  return Py_BuildValue("NNNNNNi", bytes_of(rows.rows), bytes_of(rows.starts), bytes_of(rows.ends),
                       columns, bytes_of(rows.marked), bytes_of(rows.unknown), rows.odd ? 1 : 0);
}

PyObject* scan(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *text = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &capsule, &text)) return nullptr;
  Scanner* scanner = scanner_of(capsule);
  if (scanner == nullptr) return nullptr;
  char* content = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(text, &content, &size) != 0) return nullptr;
  if (scanner->busy) {
    PyErr_SetString(PyExc_RuntimeError, "a scanner reads one piece at a time");
    return nullptr;
  }
  scanner->busy = true;
  enum { kDone, kRefused, kNoMemory, kTooMany } outcome = kDone;
  Py_BEGIN_ALLOW_THREADS
  try {
    scanner->scan(content, static_cast<size_t>(size));
  } catch (const Refused&) {
    outcome = kRefused;
  } catch (const std::bad_alloc&) {
    outcome = kNoMemory;
  } catch (const std::exception&) {
    outcome = kTooMany;
  }
  Py_END_ALLOW_THREADS
  scanner->busy = false;
  if (outcome == kNoMemory) return PyErr_NoMemory();
  if (outcome != kDone) {
    Py_INCREF(Py_None);
    return Py_None;
  }
  PyObject* groups = PyList_New(0);
  if (groups == nullptr) return nullptr;
  for (size_t group = 0; group < scanner->groups.size(); ++group) {
    PyObject* item = nullptr;
    if (scanner->rows[group].rows.empty()) {
      Py_INCREF(Py_None);
      item = Py_None;
    } else {
      item = group_result(scanner->groups[group], scanner->rows[group]);
    }
    if (!give(groups, item)) {
      Py_DECREF(groups);
      return nullptr;
    }
  }
  return Py_BuildValue("nNNNNNNNNNN", static_cast<Py_ssize_t>(scanner->phase.size()),
                       bytes_of(scanner->phase), bytes_of(scanner->category),
                       bytes_of(scanner->name), bytes_of(scanner->pid), bytes_of(scanner->tid),
                       bytes_of(scanner->ts_ns), bytes_of(scanner->dur_ns),
                       bytes_of(scanner->ids), bytes_of(scanner->place), groups);
}

// intern(scanner, vocabulary, [(text as bytes, is a number) or None]) -> codes
PyObject* intern(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *list = nullptr;
  int id = 0;
  if (!PyArg_ParseTuple(args, "OiO!", &capsule, &id, &PyList_Type, &list)) return nullptr;
  Scanner* scanner = scanner_of(capsule);
  if (scanner == nullptr) return nullptr;
  if (id < 0 || id >= kVocabularies || scanner->busy) {
    PyErr_SetString(PyExc_ValueError, "no such vocabulary, or it is in use");
    return nullptr;
  }
  std::vector<int32_t> codes;
  try {
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
      PyObject* item = PyList_GetItem(list, i);
      char* text = nullptr;
      Py_ssize_t size = 0;
      int is_number = 0;
      if (item == Py_None) {
        codes.push_back(kNullCode);
        continue;
      }
      PyObject* bytes = nullptr;
      if (!PyArg_ParseTuple(item, "Op", &bytes, &is_number) ||
          PyBytes_AsStringAndSize(bytes, &text, &size) != 0) {
        return nullptr;
      }
      codes.push_back(scanner->vocabularies[id].code_of(
          string_view(text, static_cast<size_t>(size)), is_number != 0, scanner->seed));
    }
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
    return nullptr;
  }
  return bytes_of(codes);
}

// words(scanner, vocabulary, first) -> [(text as bytes, is a number)] from a code on
PyObject* words(PyObject*, PyObject* args) {
  PyObject* capsule = nullptr;
  int id = 0;
  Py_ssize_t first = 0;
  if (!PyArg_ParseTuple(args, "Oin", &capsule, &id, &first)) return nullptr;
  Scanner* scanner = scanner_of(capsule);
  if (scanner == nullptr) return nullptr;
  if (id < 0 || id >= kVocabularies || first < 0 || scanner->busy) {
    PyErr_SetString(PyExc_ValueError, "no such vocabulary, or it is in use");
    return nullptr;
  }
  const auto& all = scanner->vocabularies[id].words();
  PyObject* list = PyList_New(0);
  if (list == nullptr) return nullptr;
  for (size_t i = static_cast<size_t>(first); i < all.size(); ++i) {
    const Py_ssize_t size = static_cast<Py_ssize_t>(all[i].text.size());
    PyObject* word = nullptr;
    if (id == kTexts) {
      word = PyBytes_FromStringAndSize(all[i].text.data(), size);
    } else if (all[i].is_number) {
      word = PyLong_FromString(std::string(all[i].text).c_str(), nullptr, 10);
    } else {
      word = PyUnicode_DecodeUTF8(all[i].text.data(), size, "strict");
    }
    if (!give(list, word)) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

// ---- the replay ----------------------------------------------------------------------------------

// The numbers that bytes hold; false where they are not `count` of them.
template <typename T>
bool read_array(PyObject* bytes, size_t count, std::vector<T>& values) {
  char* content = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &content, &size) != 0) return false;
  if (static_cast<size_t>(size) != count * sizeof(T)) {
    PyErr_SetString(PyExc_ValueError, "arrays of one length are needed");
    return false;
  }
  values.resize(count);
  if (count) std::memcpy(values.data(), content, count * sizeof(T));
  return true;
}

// play(before, gap, needs, lag) -> when each node comes, as a bytearray
PyObject* play(PyObject*, PyObject* args) {
  PyObject *before = nullptr, *gap = nullptr, *needs = nullptr, *lag = nullptr;
  if (!PyArg_ParseTuple(args, "SSSS", &before, &gap, &needs, &lag)) return nullptr;
  Graph graph;
  std::vector<double> come;
  bool is_valid = true;
  try {
    const size_t count = static_cast<size_t>(PyBytes_Size(before)) / sizeof(int64_t);
    if (!read_array(before, count, graph.before) || !read_array(gap, count, graph.gap) ||
        !read_array(needs, count, graph.needs) || !read_array(lag, count, graph.lag)) {
      return nullptr;
    }
    come.resize(count + 1);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  Py_BEGIN_ALLOW_THREADS
  is_valid = play_graph(graph, come);
  Py_END_ALLOW_THREADS
  if (!is_valid) {
    PyErr_SetString(PyExc_IndexError, "a node of no graph");
    return nullptr;
  }
  return PyByteArray_FromStringAndSize(
      reinterpret_cast<const char*>(come.data()),
      static_cast<Py_ssize_t>((come.size() - 1) * sizeof(double)));
}

// ---- the nesting of calls ------------------------------------------------------------------------

template <typename T>
PyObject* bytearray_of(const std::vector<T>& values) {
  return PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(values.data()),
                                       static_cast<Py_ssize_t>(values.size() * sizeof(T)));
}

// nest(start, end, frames) -> parent, depth, crossing, self_start, as bytearrays
PyObject* nest(PyObject*, PyObject* args) {
  PyObject *start = nullptr, *end = nullptr, *frames = nullptr;
  if (!PyArg_ParseTuple(args, "SSS", &start, &end, &frames)) return nullptr;
  Calls calls;
  Nested nested;
  bool has_memory = true;
  try {
    const size_t count = static_cast<size_t>(PyBytes_Size(frames));
    if (!read_array(start, count, calls.start) || !read_array(end, count, calls.end) ||
        !read_array(frames, count, calls.frames)) {
      return nullptr;
    }
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  Py_BEGIN_ALLOW_THREADS
  try {
    nested = nest_calls(calls);
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  Py_END_ALLOW_THREADS
  if (!has_memory) return PyErr_NoMemory();
  return Py_BuildValue("NNNN", bytearray_of(nested.parent), bytearray_of(nested.depth),
                       bytearray_of(nested.crossing), bytearray_of(nested.self_start));
}

// ---- the module ----------------------------------------------------------------------------------

PyMethodDef methods[] = {
    {"make", make, METH_VARARGS, "A scanner for groups of events, their arguments and places."},
    {"scan", scan, METH_VARARGS, "Columns of a piece of the event list; None where it is unusual."},
    {"intern", intern, METH_VARARGS, "Codes of texts in a vocabulary."},
    {"words", words, METH_VARARGS, "The words of a vocabulary from a code on."},
    {"play", play, METH_VARARGS, "When each node of a graph comes."},
    {"nest", nest, METH_VARARGS, "How calls of a thread lie in one another."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native",
                      "What would take too long in Python.", -1, methods,
                      nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module); }
