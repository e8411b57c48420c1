// The compiled part of timesink as a module of Python: what it offers and how values get in and out.
//
// The limited API: one binary serves every Python from 3.10 on.  Columns of a
// scanner travel as bytes, and arrays of analyses by their addresses.

#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
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

// groups: [(name, has_arguments, [(key, type, column, rank)], [column types], kept columns of the
// envelope, is untimed, needs the text of its values)]
bool read_groups(PyObject* list, Scanner& scanner) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    GroupPlan plan;
    const char* name = nullptr;
    int has_arguments = 0, is_untimed = 0, needs_text = 0;
    PyObject *keys = nullptr, *columns = nullptr;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "spOOIpp", &name, &has_arguments, &keys,
                          &columns, &plan.kept, &is_untimed, &needs_text)) {
      return false;
    }
    plan.name = name;
    plan.has_arguments = has_arguments != 0;
    plan.is_untimed = is_untimed != 0;
    plan.needs_text = needs_text != 0;
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
    if (!plan.has_arguments || rows.odd || !rows.has_values(column)) {
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

PyObject* none() {
  Py_INCREF(Py_None);
  return Py_None;
}

// What is taken from a piece that went to the run: how many events of each phase it holds, and
// where in its text arguments stand that are rare or that no table lists.
PyObject* run_result(const Scanner& scanner) {
  std::vector<int32_t> counts(scanner.vocabularies[kPhases].words().size() + 1);
  for (const int32_t code : scanner.phase) ++counts[static_cast<size_t>(code + 1)];
  PyObject* groups = PyList_New(0);
  if (groups == nullptr) return nullptr;
  for (const GroupRows& rows : scanner.rows) {
    const bool has_rare = !rows.marked.empty() || !rows.unknown.empty();
    PyObject* item = has_rare ? Py_BuildValue("NNNNN", bytes_of(rows.rows), bytes_of(rows.starts),
                                              bytes_of(rows.ends), bytes_of(rows.marked),
                                              bytes_of(rows.unknown))
                              : none();
    if (!give(groups, item)) {
      Py_DECREF(groups);
      return nullptr;
    }
  }
  return Py_BuildValue("nNN", static_cast<Py_ssize_t>(scanner.phase.size()), bytes_of(counts),
                       groups);
}

PyObject* piece_result(const Scanner& scanner) {
  PyObject* groups = PyList_New(0);
  if (groups == nullptr) return nullptr;
  for (size_t group = 0; group < scanner.groups.size(); ++group) {
    PyObject* item = scanner.rows[group].rows.empty()
                         ? none()
                         : group_result(scanner.groups[group], scanner.rows[group]);
    if (!give(groups, item)) {
      Py_DECREF(groups);
      return nullptr;
    }
  }
  return Py_BuildValue("nNNNNNNNNNN", static_cast<Py_ssize_t>(scanner.phase.size()),
                       bytes_of(scanner.phase), bytes_of(scanner.category),
                       bytes_of(scanner.name), bytes_of(scanner.pid), bytes_of(scanner.tid),
                       bytes_of(scanner.ts_ns), bytes_of(scanner.dur_ns),
                       bytes_of(scanner.ids), bytes_of(scanner.place), groups);
}

// scan(scanner, text, to the run) -> None where it is refused; else of a piece that went to the
// run what `run_result` says, of others all columns
PyObject* scan(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *text = nullptr;
  int to_run = 0;
  if (!PyArg_ParseTuple(args, "OOp", &capsule, &text, &to_run)) return nullptr;
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
  bool is_in_run = false;
  enum { kDone, kRefused, kNoMemory, kTooMany } outcome = kDone;
  Py_BEGIN_ALLOW_THREADS
  try {
    scanner->scan(content, static_cast<size_t>(size));
    is_in_run = to_run && scanner->is_even();
    if (is_in_run) scanner->add_to_run();
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
  if (outcome != kDone) return none();
  return is_in_run ? run_result(*scanner) : piece_result(*scanner);
}

template <typename T>
PyObject* bytes_of(const Column<T>& column) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(column.data()),
                                   static_cast<Py_ssize_t>(column.size() * sizeof(T)));
}

template <typename Narrow>
PyObject* narrowed(const Column<int32_t>& codes) {
  PyObject* bytes =
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(codes.size() * sizeof(Narrow)));
  if (bytes == nullptr) return nullptr;
  char* content = PyBytes_AsString(bytes);
  for (size_t row = 0; row < codes.size(); ++row) {
    const Narrow code = static_cast<Narrow>(codes[row]);
    std::memcpy(content + row * sizeof(Narrow), &code, sizeof(Narrow));
  }
  return bytes;
}

// Codes in as few bytes as the largest of them needs.
PyObject* codes_of(const Column<int32_t>& codes) {
  int32_t largest = 0;
  for (size_t row = 0; row < codes.size(); ++row) {
    largest = codes[row] > largest ? codes[row] : largest;
  }
  if (largest <= std::numeric_limits<int8_t>::max()) return narrowed<int8_t>(codes);
  if (largest <= std::numeric_limits<int16_t>::max()) return narrowed<int16_t>(codes);
  return bytes_of(codes);
}

// The values of a column, which is given up for them; None where there are none.
template <typename T>
PyObject* handed_over(Column<T>& column) {
  if (column.empty()) return none();
  PyObject* values;
  if constexpr (std::is_same_v<T, int32_t>) {
    values = codes_of(column);
  } else {
    values = bytes_of(column);
  }
  column.release();
  return values;
}

template <typename T>
PyObject* handed_over(Column<T>& column, size_t count, T missing) {
  if (!column.empty()) column.fill(count, missing);
  return handed_over(column);
}

PyObject* run_group(const GroupPlan& plan, RunGroup& group) {
  PyObject* columns = PyList_New(0);
  if (columns == nullptr) return nullptr;
  for (size_t column = 0; column < plan.columns.size(); ++column) {
    PyObject* values = nullptr;
    switch (plan.columns[column]) {
      case kInt: values = handed_over(group.ints[column], group.count, kNullInt); break;
      case kFloat:
        values = handed_over(group.floats[column], group.count,
                             std::numeric_limits<double>::quiet_NaN());
        break;
      default: values = handed_over(group.codes[column], group.count, kNullCode);
    }
    if (!give(columns, values)) {
      Py_DECREF(columns);
      return nullptr;
    }
  }
  PyObject* index = bytes_of(group.index);
  group.index.release();
  return Py_BuildValue("nNNNNNNNNNN", static_cast<Py_ssize_t>(group.count), index,
                       handed_over(group.phase), handed_over(group.category),
                       handed_over(group.name), handed_over(group.pid), handed_over(group.tid),
                       handed_over(group.ts_ns), handed_over(group.dur_ns),
                       handed_over(group.ids), columns);
}

// end_run(scanner) -> columns of each group over all pieces of the run, None of those without rows
PyObject* end_run(PyObject*, PyObject* args) {
  PyObject* capsule = nullptr;
  if (!PyArg_ParseTuple(args, "O", &capsule)) return nullptr;
  Scanner* scanner = scanner_of(capsule);
  if (scanner == nullptr) return nullptr;
  if (scanner->busy) {
    PyErr_SetString(PyExc_RuntimeError, "a scanner reads one piece at a time");
    return nullptr;
  }
  PyObject* groups = PyList_New(0);
  if (groups == nullptr) return nullptr;
  try {
    for (size_t group = 0; group < scanner->run.size(); ++group) {
      RunGroup& columns = scanner->run[group];
      if (!give(groups, columns.count ? run_group(scanner->groups[group], columns) : none())) {
        Py_DECREF(groups);
        return nullptr;
      }
    }
    scanner->end_run();
  } catch (const std::bad_alloc&) {
    Py_DECREF(groups);
    return PyErr_NoMemory();
  }
  return groups;
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

// Arrays come by address and number of entries, as `runtime/native.py` gives them:
// they are longer-lived than the call, of the type that is read here, and in one piece.
template <typename T>
bool read_view(PyObject* pair, View<T>& view) {
  unsigned long long address = 0;
  Py_ssize_t count = 0;
  if (!PyArg_ParseTuple(pair, "Kn", &address, &count)) return false;
  if (count < 0 || (count > 0 && address == 0)) {
    PyErr_SetString(PyExc_ValueError, "no such array");
    return false;
  }
  view.data = reinterpret_cast<T*>(static_cast<uintptr_t>(address));
  view.count = static_cast<size_t>(count);
  return true;
}

// (before, needs, gap, lag, point, activity, waits)
bool read_graph(PyObject* arrays, Graph& graph) {
  PyObject* given[7] = {};
  if (!PyArg_ParseTuple(arrays, "OOOOOOO", &given[0], &given[1], &given[2], &given[3], &given[4],
                        &given[5], &given[6]) ||
      !read_view(given[0], graph.before) || !read_view(given[1], graph.needs) ||
      !read_view(given[2], graph.gap) || !read_view(given[3], graph.lag) ||
      !read_view(given[4], graph.point) || !read_view(given[5], graph.activity) ||
      !read_view(given[6], graph.waits)) {
    return false;
  }
  const size_t count = graph.before.count;
  for (const size_t other : {graph.needs.count, graph.gap.count, graph.lag.count,
                             graph.point.count, graph.activity.count, graph.waits.count}) {
    if (other != count) {
      PyErr_SetString(PyExc_ValueError, "arrays of one length are needed");
      return false;
    }
  }
  return true;
}

PyObject* done(bool is_valid) {
  if (is_valid) Py_RETURN_NONE;
  PyErr_SetString(PyExc_IndexError, "a node of no graph");
  return nullptr;
}

// play(graph, work, length, come): when each node comes, into an array with a place more
PyObject* play(PyObject*, PyObject* args) {
  PyObject *arrays = nullptr, *work = nullptr, *length = nullptr, *come = nullptr;
  Graph graph;
  View<const double> worked, lasts;
  View<double> moments;
  if (!PyArg_ParseTuple(args, "OOOO", &arrays, &work, &length, &come) ||
      !read_graph(arrays, graph) || !read_view(work, worked) || !read_view(length, lasts) ||
      !read_view(come, moments)) {
    return nullptr;
  }
  bool is_valid = true;
  Py_BEGIN_ALLOW_THREADS
  is_valid = play_graph(graph, worked, lasts, moments);
  Py_END_ALLOW_THREADS
  return done(is_valid);
}

// path(graph, work, length, come, last, nodes, by_need) -> how many nodes decided when `last` came
PyObject* path(PyObject*, PyObject* args) {
  PyObject *arrays = nullptr, *work = nullptr, *length = nullptr, *come = nullptr;
  PyObject *chain = nullptr, *need = nullptr;
  long long last = 0;
  Graph graph;
  View<const double> worked, lasts, moments;
  View<int64_t> nodes;
  View<uint8_t> by_need;
  if (!PyArg_ParseTuple(args, "OOOOLOO", &arrays, &work, &length, &come, &last, &chain, &need) ||
      !read_graph(arrays, graph) || !read_view(work, worked) || !read_view(length, lasts) ||
      !read_view(come, moments) || !read_view(chain, nodes) || !read_view(need, by_need)) {
    return nullptr;
  }
  int64_t found = 0;
  Py_BEGIN_ALLOW_THREADS
  found = decisive_path(graph, worked, lasts, moments, last, nodes, by_need);
  Py_END_ALLOW_THREADS
  return found < 0 ? done(false) : PyLong_FromLongLong(found);
}

// work(graph, (time, is_start, first, cost, scale), min_share, so_far): what threads had worked
PyObject* work(PyObject*, PyObject* args) {
  PyObject *arrays = nullptr, *so_far = nullptr;
  PyObject* given[5] = {};
  double min_share = 0.0;
  Graph graph;
  Points points;
  View<double> worked;
  if (!PyArg_ParseTuple(args, "O(OOOOO)dO", &arrays, &given[0], &given[1], &given[2], &given[3],
                        &given[4], &min_share, &so_far) ||
      !read_graph(arrays, graph) || !read_view(given[0], points.time) ||
      !read_view(given[1], points.is_start) || !read_view(given[2], points.first) ||
      !read_view(given[3], points.cost) || !read_view(given[4], points.scale) ||
      !read_view(so_far, worked)) {
    return nullptr;
  }
  const size_t count = points.time.count;
  if (points.is_start.count != count || worked.count != count ||
      (points.cost.count && points.cost.count != count) ||
      (points.scale.count && points.scale.count != count)) {
    PyErr_SetString(PyExc_ValueError, "arrays of one length are needed");
    return nullptr;
  }
  bool is_valid = true, has_memory = true;
  Py_BEGIN_ALLOW_THREADS
  try {
    is_valid = work_of_points(graph, points, min_share, worked);
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  Py_END_ALLOW_THREADS
  return has_memory ? done(is_valid) : PyErr_NoMemory();
}

// ---- the nesting of calls ------------------------------------------------------------------------

// nest(thread, start, end, frames, parent, depth, self_start, size, crossing)
PyObject* nest(PyObject*, PyObject* args) {
  PyObject* given[9] = {};
  Calls calls;
  Nested nested;
  if (!PyArg_ParseTuple(args, "OOOOOOOOO", &given[0], &given[1], &given[2], &given[3], &given[4],
                        &given[5], &given[6], &given[7], &given[8]) ||
      !read_view(given[0], calls.thread) || !read_view(given[1], calls.start) ||
      !read_view(given[2], calls.end) || !read_view(given[3], calls.frames) ||
      !read_view(given[4], nested.parent) || !read_view(given[5], nested.depth) ||
      !read_view(given[6], nested.self_start) || !read_view(given[7], nested.size) ||
      !read_view(given[8], nested.crossing)) {
    return nullptr;
  }
  const size_t count = calls.start.count;
  if (count > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    PyErr_SetString(PyExc_ValueError, "more calls than 32 bits count");
    return nullptr;
  }
  for (const size_t other :
       {calls.thread.count, calls.end.count, calls.frames.count, nested.parent.count,
        nested.depth.count, nested.self_start.count, nested.size.count, nested.crossing.count}) {
    if (other != count) {
      PyErr_SetString(PyExc_ValueError, "arrays of one length are needed");
      return nullptr;
    }
  }
  bool has_memory = true;
  Py_BEGIN_ALLOW_THREADS
  try {
    nest_calls(calls, nested);
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  Py_END_ALLOW_THREADS
  if (!has_memory) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

// crossed(lane, start, end, flags): flags of those that another interval of their lane crosses
PyObject* crossed(PyObject*, PyObject* args) {
  PyObject* given[4] = {};
  View<const int64_t> lane, start, end;
  View<uint8_t> flags;
  if (!PyArg_ParseTuple(args, "OOOO", &given[0], &given[1], &given[2], &given[3]) ||
      !read_view(given[0], lane) || !read_view(given[1], start) || !read_view(given[2], end) ||
      !read_view(given[3], flags)) {
    return nullptr;
  }
  if (start.count != lane.count || end.count != lane.count || flags.count != lane.count ||
      lane.count > std::numeric_limits<uint32_t>::max()) {
    PyErr_SetString(PyExc_ValueError, "arrays of one length are needed");
    return nullptr;
  }
  bool has_memory = true;
  Py_BEGIN_ALLOW_THREADS
  try {
    find_crossed(lane, start, end, flags);
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  Py_END_ALLOW_THREADS
  if (!has_memory) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

}  // namespace

// ---- memory snapshots ----------------------------------------------------------------------------

#include "snapshot_binding.hpp"

namespace {

// ---- the module ----------------------------------------------------------------------------------

// A function as Python may call it: what is thrown in it becomes an error of Python.
template <PyCFunction function>
PyObject* guarded(PyObject* self, PyObject* args) {
  try {
    return function(self, args);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyMethodDef methods[] = {
    {"make", guarded<make>, METH_VARARGS, "A scanner for groups of events, their arguments and places."},
    {"scan", guarded<scan>, METH_VARARGS, "Columns of a piece of the event list; None where it is unusual."},
    {"end_run", guarded<end_run>, METH_VARARGS, "Columns of the pieces since the last run ended."},
    {"intern", guarded<intern>, METH_VARARGS, "Codes of texts in a vocabulary."},
    {"words", guarded<words>, METH_VARARGS, "The words of a vocabulary from a code on."},
    {"play", guarded<play>, METH_VARARGS, "When each node of a graph comes."},
    {"path", guarded<path>, METH_VARARGS, "Which nodes decided when one came."},
    {"work", guarded<work>, METH_VARARGS, "What the threads of a graph had worked so far, by point."},
    {"nest", guarded<nest>, METH_VARARGS, "How calls lie in one another, thread by thread."},
    {"snapshot_reader", guarded<snapshot_reader>, METH_VARARGS, "A reader of one memory snapshot."},
    {"snapshot_feed", guarded<snapshot_feed>, METH_VARARGS, "Go on with further bytes; whether it ended."},
    {"plain_result", guarded<plain_result>, METH_VARARGS, "The value of a pickle of plain values."},
    {"snapshot_result", guarded<snapshot_result>, METH_VARARGS, "What a snapshot holds, as columns."},
    {"crossed", guarded<crossed>, METH_VARARGS, "Which intervals of a lane another one crosses."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native",
                      "What would take too long in Python.", -1, methods,
                      nullptr, nullptr, nullptr, nullptr};

}  // namespace

// What the package has to expect: another number for other functions, arguments or types of arrays.
constexpr long INTERFACE = 2;

PyMODINIT_FUNC PyInit__native(void) {
  PyObject* made = PyModule_Create(&module);
  if (made && PyModule_AddIntConstant(made, "INTERFACE", INTERFACE)) Py_CLEAR(made);
  return made;
}
