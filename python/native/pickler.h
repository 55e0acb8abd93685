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
  kIgnore = 0,  ///< Immutable, or pickled by reference: it links nothing.
  kCount = 1,   ///< Mutable data, which links the values that reach it.
  kAsk = 2,     ///< `classify` decides for each object.
};

/// The functions and objects of Python that a pickler needs.
struct PicklerHooks {
  /// treat(object) -> (reducer | None, Sharing, direct): how to pickle objects of its type, for which there
  /// are no opcodes. The reducer takes an object and answers as `__reduce_ex__` does, or NotImplemented.
  /// direct: its answer has only what the object refers to itself, and no container that another object has.
  PyObject* treat;
  /// classify(object) -> bool: for Sharing::kAsk, whether the object counts as mutable data.
  PyObject* classify;
  /// locate(object, name | None) -> (module, qualified name). It raises when the object is not there.
  PyObject* locate;
  PyObject* namespace_dict;  ///< The notebook's namespace. It is pickled as a call of live_namespace.
  PyObject* live_namespace;  ///< A function of a module, without arguments.
  PyObject* text_over;       ///< A function of a module that makes a str of a buffer in UTF-8.
  /// live(object), for an object in live_objects. It answers as a reducer does, or NotImplemented.
  PyObject* live;
  const std::unordered_set<const PyObject*>* live_objects;
  PyObject* ascii;      ///< ascii(str) -> an object whose buffer has the characters of a text of ASCII.
  PyTypeObject* apart;  ///< Instances of this type are put out of band as they are.
};

/// One traversal of what is reachable from an object: writes it as a pickle (protocol 5) and notes the
/// mutable objects met. It does what Python's own pickler does, with these differences: equal values have
/// equal bytes (strings are compared by value, sets of numbers or strings are sorted); nesting is bounded
/// by memory, not by the C stack; bytes and buffers of kApart bytes and more are out of band. O(objects).
/// Needs the GIL.
///
/// A container to which only one reference leads is met once, and need not be remembered. That is most of a
/// large graph, and saves most of the time and memory that remembering takes. Texts and byte strings are
/// recognised by value, if they are short and were written lately.
class Pickler {
 public:
  static constexpr std::size_t kApart = 1024;

  /// A set with at least this many elements is treated as an object for which there are no opcodes.
  static constexpr Py_ssize_t kLargeSet = 16384;

  /// Thrown when a reducer answered with what may lie in a container that was not remembered. Pickle again
  /// with remember_all.
  struct Forgotten {};

  Pickler(const PicklerHooks& hooks, bool remember_all) : hooks_(hooks), remember_all_(remember_all) {}

  /// Thrown when an object of another pickling was met, as the watch says.
  struct Met {
    std::size_t pickling;
  };

  /// Writes one value as the whole pickle.
  void whole(PyObject* value);
  /// Writes a pickle that is a dict of names (str) and values; values are objects to which others refer.
  /// `add` stops at the first object that `watch`, which may be null, has. All three throw PythonError,
  /// Forgotten and Met; the pickle is then unusable.
  void add(PyObject* name, PyObject* value, const Watch* watch);
  void end();

  [[nodiscard]] Stream& stream() { return stream_; }
  /// What the pickle needs out of band, in order: objects with the buffer protocol.
  [[nodiscard]] std::vector<Object>& buffers() { return buffers_; }
  [[nodiscard]] Memo& memo() { return memo_; }
  /// What each added value led to.
  [[nodiscard]] const std::vector<Reach>& reaches() const { return reaches_; }
  /// Addresses of the values' mutable objects that the memo does not have.
  [[nodiscard]] const std::vector<std::uintptr_t>& sole() const { return sole_; }
  /// The bytearrays that were met, of whose memory other objects have views.
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
  /// How the traversal came to an object.
  struct Way {
    /// How many references to it the traversal accounts for. An object that has no more is met once.
    /// 0: not known.
    Py_ssize_t references;
    /// Whether it came from an object that a reducer made: one that is met once is then no part of the value.
    bool made;
  };
  /// An object that is partly written. The frames of a traversal are the stack that recursion would use.
  struct Frame {
    Kind kind = Kind::kReduce;
    Object object = {};
    /// For a set its items, for an instance its attributes, for reduce the answer of __reduce_ex__.
    Object rest = {};
    Object pending = {};  ///< For a dict the value of the key that was just written, for reduce an iterator.
    Py_ssize_t at = 0;    ///< The position in a container; for others the phase.
    Py_ssize_t count = 0;
    int open = 0;           ///< Items since the last mark.
    bool argument = false;  ///< Whether it is the tuple of a call's arguments, to which nothing else refers.
    bool sole = false;      ///< Whether it is met only once.
    bool made = false;      ///< Whether it is met only once and is no part of the value.
  };
  struct Treatment {
    Object reducer;
    Sharing sharing = Sharing::kIgnore;
    /// kInstance: it has nothing but a __dict__, and its class does not say how it is pickled.
    Kind kind = Kind::kReduce;
    bool direct = false;
  };

  // These return false when the object was only begun: its frame is on top.
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
  /// For an object that may be met only once.
  void memoize(const Frame& frame, bool counts);
  /// For the object that the stream has just made. False when it was written meanwhile by way of its own
  /// parts: then that one is used.
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
  std::vector<PyObject*> lent_;  ///< The memo keeps them alive.
  std::vector<Frame> frames_;
  std::unordered_map<PyTypeObject*, Treatment> treatments_;
  std::unordered_map<PyObject*, int> making_;  ///< How often the constructor of each object was begun.
  std::vector<Reach> reaches_;
  const Watch* watch_ = nullptr;
};

}  // namespace banyan
