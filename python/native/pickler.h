#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "memo.h"
#include "object.h"
#include "recent_texts.h"
#include "sharing.h"
#include "stream.h"

namespace banyan {

/// How objects of one type take part in sharing.
enum class Sharing : long {
  kIgnore = 0,  ///< immutable, or pickled by reference: never a link
  kCount = 1,   ///< mutable data
  kAsk = 2,     ///< ask for each object
};

/// What a pickler asks of Python.
struct PicklerHooks {
  /// treat(object) -> (reducer | None, Sharing, direct): how to pickle objects of its type, which has no
  /// opcodes. The reducer takes an object and answers as `__reduce_ex__` does, or NotImplemented; direct:
  /// with what the object refers to itself, and with no container that is another object's.
  PyObject* treat;
  PyObject* classify;  ///< classify(object) -> bool: for Sharing::kAsk, whether it counts
  PyObject* locate;  ///< locate(object, name | None) -> (module, qualified name); raises when it is not there
  PyObject* namespace_dict;  ///< the notebook's: pickled as a call of the next
  PyObject* live_namespace;  ///< a function of a module, without arguments
  PyObject* text_over;       ///< a function of a module: the str of a buffer in UTF-8
  PyObject* live;  ///< live(object), of one in the next: answers as a reducer does, or NotImplemented
  const std::unordered_set<const PyObject*>* live_objects;
  PyObject* ascii;      ///< ascii(str) -> an object whose buffer a text of such characters is
  PyTypeObject* apart;  ///< its instances are out of band, as they are
};

/// One traversal of what is reachable from an object: writes it as a pickle (protocol 5) and notes the
/// mutable objects met. What Python's own pickler does, with these differences: the same value gives the same
/// bytes (strings by value, sets of numbers or strings sorted); nesting is bounded by memory, not by the C
/// stack; bytes and buffers of kApart bytes and more are out of band. O(objects). Needs the GIL.
///
/// A container that one reference leads to is met once, and need not be remembered: most of a large graph,
/// and of what remembering it would take in time and memory. Texts and byte strings are known by value, as
/// far as they were written lately and are not long.
class Pickler {
 public:
  static constexpr std::size_t kApart = 1024;

  /// Sets of so many elements are asked about as objects are that have no opcodes.
  static constexpr Py_ssize_t kLargeSet = 16384;

  /// A reducer answered with what may lie in a container that was not remembered: remember all.
  struct Forgotten {};

  Pickler(const PicklerHooks& hooks, bool remember_all) : hooks_(hooks), remember_all_(remember_all) {}

  /// A mutable object of another pickling was met, as the watch says.
  struct Met {
    std::size_t pickling;
  };

  /// One value is the whole pickle.
  void whole(PyObject* value);
  /// The pickle is a dict of names (str) and values; they are objects that others refer to. Stops at the
  /// first object that `watch`, which may be null, has. All three throw PythonError, Forgotten and Met: what
  /// was added is of no use then.
  void add(PyObject* name, PyObject* value, const Watch* watch);
  void end();

  [[nodiscard]] Stream& stream() { return stream_; }
  /// What the pickle needs out of band, in order: objects with the buffer protocol.
  [[nodiscard]] std::vector<Object>& buffers() { return buffers_; }
  [[nodiscard]] Memo& memo() { return memo_; }
  /// What each value that was added led to.
  [[nodiscard]] const std::vector<Reach>& reaches() const { return reaches_; }
  /// Addresses of the mutable objects of the value that the memo does not have.
  [[nodiscard]] const std::vector<std::uintptr_t>& sole() const { return sole_; }
  /// The bytearrays met of whose memory others have views.
  [[nodiscard]] const std::vector<PyObject*>& lent() const { return lent_; }

 private:
  enum class Kind : std::uint8_t {
    kList,
    kDict,
    kTuple,
    kPair,
    kSet,
    kFrozenSet,
    kInstance,
    kCounter,
    kDefaultDict,
    kReduce
  };
  /// What leads to an object.
  struct Way {
    Py_ssize_t references;  ///< those on the way: an object that has no more is met once. 0: not known
    bool made;              ///< it begins at what a reducer made: an object met once is no part of the value
  };
  /// An object that is written in part. Those of one traversal are the stack that recursion would use.
  struct Frame {
    Kind kind = Kind::kReduce;
    Object object = {};
    Object rest = {};     ///< set: its items; instance: attributes; reduce: what __reduce_ex__ answered
    Object pending = {};  ///< dict: the value of the key just written; reduce: an iterator
    Py_ssize_t at = 0;    ///< position in the container; phase of the others
    Py_ssize_t count = 0;
    int open = 0;           ///< items since the last mark
    bool argument = false;  ///< a tuple that a call takes: nobody else has it
    bool sole = false;      ///< met once
    bool made = false;      ///< and no part of the value
  };
  struct Treatment {
    Object reducer;
    Sharing sharing = Sharing::kIgnore;
    Kind kind = Kind::kReduce;  ///< kInstance: nothing but a __dict__, and no say in how it is pickled
    bool direct = false;
  };

  // False when the object was only begun: its frame is on top.
  bool save(PyObject* object, Way way);
  bool save(PyObject* object) { return save(object, {.references = 0, .made = false}); }
  bool save_text(PyObject* text);
  void save_long_text(PyObject* text);
  bool save_bytes(PyObject* bytes);
  bool save_set(Frame frame);
  bool save_other(Frame frame);
  bool save_reduced(Frame frame, bool direct);
  bool fill_dict(Frame frame);
  void save_int(PyObject* number);
  void save_float(PyObject* number);
  void save_bytearray(PyObject* bytes);
  void save_buffer(PyObject* buffer);
  void save_namespace();
  void save_global(PyObject* object, PyObject* name);
  void put_bytes(std::string_view bytes);
  void put_apart(PyObject* callee, Object buffer);
  void begin();
  void run(PyObject* root);
  void get(const Memo::Entry& known);
  void get(std::uint32_t number);
  void memoize(PyObject* object, bool counts);
  /// As part of a way that may be the only one.
  void memoize(const Frame& frame, bool counts);
  /// The same of what the stream has just made; false when it was made on the way too, which is then the one.
  bool memoize_made(const Frame& frame, bool counts);
  [[nodiscard]] const Memo::Entry* met_meanwhile(const Frame& frame) const;
  bool push(Frame frame);
  [[noreturn]] static void refuse(const char* why);

  void advance();
  void advance_list(Frame& frame);
  void advance_dict(Frame& frame);
  void advance_tuple(Frame& frame);
  void advance_set(Frame& frame);
  void advance_instance(Frame& frame);
  void advance_counter(Frame& frame);
  void advance_default_dict(Frame& frame);
  void advance_reduce(Frame& frame);
  bool reduce_make(Frame& frame);
  bool reduce_items(Frame& frame);
  bool reduce_pairs(Frame& frame);
  bool reduce_state(Frame& frame);
  void begin_item(Frame& frame, Op end);
  void end_batch(Frame& frame, Op end);

  [[nodiscard]] bool is_sole(PyObject* object, Py_ssize_t references) const;
  bool remembered(PyObject* object, int depth);
  const Treatment& treatment(PyObject* object);
  bool counts(const Treatment& how, PyObject* object);
  void guard_cycle(PyObject* object);

  PicklerHooks hooks_;
  bool remember_all_;
  Stream stream_;
  Memo memo_;
  RecentTexts texts_;
  std::vector<std::uintptr_t> sole_;
  std::vector<Object> buffers_;
  std::vector<PyObject*> lent_;  ///< the memo has them
  std::vector<Frame> frames_;
  std::unordered_map<PyTypeObject*, Treatment> treatments_;
  std::unordered_map<PyObject*, int> making_;  ///< how often each object's constructor was begun
  std::vector<Reach> reaches_;
  const Watch* watch_ = nullptr;
};

}  // namespace banyan
