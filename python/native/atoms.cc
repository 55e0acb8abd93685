#include "atoms.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace banyan {
namespace {

enum class Kind : std::uint32_t { kText, kNone, kFalse, kTrue, kFloat, kInt };
constexpr unsigned kKindShift = 29;
constexpr std::uint32_t kSizeMask = (1U << kKindShift) - 1;
constexpr std::size_t kNumberSize = 8;
static_assert(std::endian::native == std::endian::little && sizeof(PyObject*) == kNumberSize);

// Elements of an array of objects in memory order; `step` is the distance between two of them, in pointers.
class Items {
 public:
  Items(PyObject** first, std::size_t count, std::size_t step) : first_(first), count_(count), step_(step) {}

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] PyObject*& operator[](std::size_t index) const { return first_[index * step_]; }
  [[nodiscard]] Items part(std::size_t at, std::size_t count) const {
    return {first_ + at * step_, count, step_};
  }
  [[nodiscard]] Items block(std::size_t index) const {
    const auto at = index * Atoms::kPerBlock;
    return part(at, std::min(Atoms::kPerBlock, count_ - at));
  }

  // The memory from the first to the last element.
  [[nodiscard]] std::span<const std::byte> memory() const {
    return std::as_bytes(std::span(first_, count_ == 0 ? 0 : (count_ - 1) * step_ + 1));
  }
  // The elements that lie in this part of the memory.
  [[nodiscard]] Items within(std::span<const std::byte> bytes) const {
    const auto place = [&](const std::byte* at) {
      const auto pointers = static_cast<std::size_t>(at - memory().data()) / sizeof(PyObject*);
      return (pointers + step_ - 1) / step_;
    };
    const auto begin = place(bytes.data());
    return part(begin, place(bytes.data() + bytes.size()) - begin);
  }
  // Whether a part of the memory is a whole block, and not the beginning or the end of one.
  [[nodiscard]] bool is_block(std::span<const std::byte> bytes) const {
    const auto all = memory();
    const auto at = static_cast<std::size_t>(bytes.data() - all.data());
    return at % cut().unit == 0 && (bytes.size() == cut().unit || at + bytes.size() == all.size());
  }
  [[nodiscard]] Blocks::Cut cut() const {
    return {.unit = Atoms::kPerBlock * step_ * sizeof(PyObject*), .other_form = true};
  }

 private:
  PyObject** first_;
  std::size_t count_;
  std::size_t step_;
};

// The buffer of an array of objects, if it is contiguous or has one dimension.
class View {
 public:
  explicit View(PyObject* array) {
    if (PyObject_GetBuffer(array, &view_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) throw PythonError{};
    const bool objects = view_.itemsize == sizeof(PyObject*) && view_.format != nullptr &&
                         std::string_view(view_.format) == "O";
    if (!objects || step() == 0 || reinterpret_cast<std::uintptr_t>(view_.buf) % sizeof(PyObject*) != 0) {
      PyBuffer_Release(&view_);
      throw Atoms::NotAtoms{};
    }
  }
  ~View() { PyBuffer_Release(&view_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  [[nodiscard]] Items items() const {
    return {static_cast<PyObject**>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(PyObject*),
            step()};
  }

 private:
  // With a larger distance, most of the watched memory would belong to other columns.
  static constexpr Py_ssize_t kStepMax = 256;

  // The distance between two elements, in pointers. 0 when they do not follow each other like that.
  [[nodiscard]] std::size_t step() const {
    constexpr Py_ssize_t kPointer = sizeof(PyObject*);
    if (PyBuffer_IsContiguous(&view_, 'A') != 0) return 1;
    if (view_.ndim != 1 || view_.strides[0] % kPointer != 0) return 0;
    const auto step = view_.strides[0] / kPointer;
    return step < 1 || step > kStepMax ? 0 : static_cast<std::size_t>(step);
  }

  Py_buffer view_{};
};

template <class Number>
void append(std::string& bytes, Number number) {
  static_assert(sizeof(number) == kNumberSize);
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Appends what a block has of an object after the heads. Returns the object's head.
std::uint32_t encode(PyObject* object, std::string& bytes) {
  const auto head = [](Kind kind, std::size_t size = 0) {
    return static_cast<std::uint32_t>(kind) << kKindShift | static_cast<std::uint32_t>(size);
  };
  if (object == nullptr || object == Py_None) return head(Kind::kNone);  // numpy takes null for None.
  if (PyUnicode_CheckExact(object)) {
    const auto utf8 = utf8_of(object);
    const auto text = utf8.bytes;
    if (text.size() > kSizeMask) throw Atoms::NotAtoms{};
    bytes += text;
    return head(Kind::kText, text.size());
  }
  if (PyFloat_CheckExact(object)) {
    append(bytes, PyFloat_AS_DOUBLE(object));
    return head(Kind::kFloat);
  }
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) throw Atoms::NotAtoms{};
    append(bytes, number);
    return head(Kind::kInt);
  }
  if (PyBool_Check(object)) return head(object == Py_True ? Kind::kTrue : Kind::kFalse);
  throw Atoms::NotAtoms{};
}

std::span<const std::byte> bytes_of(const Object& bytes) {
  return {reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(bytes.get())),
          static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

// The elements as a block, which is a bytes object.
Object encoded(const Items& items) {
  std::vector<std::uint32_t> heads;
  heads.reserve(items.size() + 1);
  heads.push_back(static_cast<std::uint32_t>(items.size()));
  std::string content;
  for (std::size_t i = 0; i < items.size(); ++i) {
    heads.push_back(encode(items[i], content));
    if (content.size() > Atoms::kBlockMax) throw Atoms::NotAtoms{};
  }
  const auto heads_size = heads.size() * sizeof(heads[0]);
  auto bytes = Object::steal(
      checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(heads_size + content.size()))));
  char* const at = PyBytes_AS_STRING(bytes.get());
  std::memcpy(at, heads.data(), heads_size);
  content.copy(at + heads_size, content.size());
  return bytes;
}

Object decode(std::uint32_t head, const char* content) {
  switch (static_cast<Kind>(head >> kKindShift)) {
    case Kind::kText:
      return Object::steal(
          PyUnicode_DecodeUTF8(content, static_cast<Py_ssize_t>(head & kSizeMask), "surrogatepass"));
    case Kind::kNone:
      return Object::share(Py_None);
    case Kind::kFalse:
      return Object::share(Py_False);
    case Kind::kTrue:
      return Object::share(Py_True);
    case Kind::kFloat: {
      double number = 0;
      std::memcpy(&number, content, sizeof(number));
      return Object::steal(PyFloat_FromDouble(number));
    }
    case Kind::kInt: {
      long long number = 0;
      std::memcpy(&number, content, sizeof(number));
      return Object::steal(PyLong_FromLongLong(number));
    }
  }
  throw std::invalid_argument("an element of no known kind");
}

std::size_t content_size(std::uint32_t head) {
  const auto kind = static_cast<Kind>(head >> kKindShift);
  if (kind == Kind::kText) return head & kSizeMask;
  return kind == Kind::kFloat || kind == Kind::kInt ? kNumberSize : 0;
}

// A block in the form in which it is stored.
struct Encoded {
  std::vector<std::uint32_t> heads;
  std::span<const std::byte> content;
  std::span<const std::byte> all;
};

// Removes the first block from `bytes`.
Encoded take_block(std::span<const std::byte>& bytes) {
  const auto bad = [] { throw std::invalid_argument("the bytes of an array end in the midst of it"); };
  std::uint32_t count = 0;
  if (bytes.size() < sizeof(count)) bad();
  std::memcpy(&count, bytes.data(), sizeof(count));
  const std::size_t content_at = (std::size_t{count} + 1) * sizeof(count);
  if (count == 0 || bytes.size() < content_at) bad();
  std::vector<std::uint32_t> heads(count);
  std::memcpy(heads.data(), bytes.data() + sizeof(count), count * sizeof(count));
  std::size_t size = 0;
  for (const auto head : heads) size += content_size(head);
  if (bytes.size() - content_at < size) bad();
  Encoded block{.heads = std::move(heads),
                .content = bytes.subspan(content_at, size),
                .all = bytes.first(content_at + size)};
  bytes = bytes.subspan(content_at + size);
  return block;
}

void set(PyObject*& slot, Object object) {
  PyObject* before = std::exchange(slot, object.release());
  Py_XDECREF(before);
}

// Texts that were made just now, so that equal texts of a column are one object.
class Texts {
 public:
  Object get(const char* bytes, std::size_t size) {
    if (size > kLong) return decode(static_cast<std::uint32_t>(size), bytes);
    const std::string_view text(bytes, size);
    auto& place = places_[std::hash<std::string_view>{}(text) % places_.size()];
    if (place.object == nullptr || place.text != text) {
      auto made = decode(static_cast<std::uint32_t>(size), bytes);
      place = {.text = text, .object = made.get()};
      return made;
    }
    return Object::share(place.object);
  }

 private:
  struct Place {
    std::string_view text;
    PyObject* object = nullptr;  // Kept alive by the array.
  };
  static constexpr std::size_t kLong = 64;

  std::vector<Place> places_{4096};
};

void copy(const Items& from, const Items& to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    set(to[i], Object::share(from[i] == nullptr ? Py_None : from[i]));
}

void decode(const Encoded& block, const Items& to, Texts& texts) {
  const auto* content = reinterpret_cast<const char*>(block.content.data());
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto head = block.heads[i];
    auto object = static_cast<Kind>(head >> kKindShift) == Kind::kText
                      ? texts.get(content, content_size(head))
                      : decode(head, content);
    if (!object) throw PythonError{};
    set(to[i], std::move(object));
    content += content_size(block.heads[i]);
  }
}

// The large arrays that were met and are still alive. While one is alive, nobody else has its memory.
class Live {
 public:
  // `kept`, if it is not null, gets the blocks that were read for that.
  std::vector<Block> blocks_of(PyObject* array, const Items& items, Atoms::Kept* kept) {
    const std::lock_guard lock(shared_.mutex);
    if (Blocks::remembers(items.memory().size(), items.cut())) notice(array, items);
    const auto reader = [kept, &items](std::span<const std::byte> pointers) {
      auto made = encoded(items.within(pointers));
      const auto bytes = bytes_of(made);
      const Block block{digest_of(bytes), bytes.size()};
      if (kept != nullptr && items.is_block(pointers)) kept->add(block, std::move(made));
      return block;
    };
    return shared_.blocks.of_memory(items.memory(), items.cut(), reader);
  }

  // Remembers an array that has just been filled with these blocks.
  void remember(PyObject* array, const Items& items, std::vector<Block> blocks) {
    const std::lock_guard lock(shared_.mutex);
    notice(array, items);
    shared_.blocks.remember(items.memory(), items.cut(), std::move(blocks));
  }

  struct Place {
    std::uintptr_t address = 0;
    std::size_t block = 0;
  };
  std::unordered_map<BlockDigest, Place, BlockDigest::Hash> places() const {
    const std::lock_guard lock(shared_.mutex);
    std::unordered_map<BlockDigest, Place, BlockDigest::Hash> places;
    for (const auto& [address, reference] : arrays_) {
      if (!referent(reference)) continue;
      const auto known = shared_.blocks.remembered(address);
      for (std::size_t i = 0; i < known.size(); ++i) places.emplace(known[i].digest, Place{address, i});
    }
    return places;
  }

  // The array whose elements begin at `address`; none when it is no longer alive.
  Object at(std::uintptr_t address) {
    const auto it = arrays_.find(address);
    if (it == arrays_.end()) return {};
    return referent(it->second);
  }

 private:
  void notice(PyObject* array, const Items& items) {
    const auto address = reinterpret_cast<std::uintptr_t>(items.memory().data());
    const auto known = arrays_.find(address);
    if (known != arrays_.end() && referent(known->second).get() == array) return;
    auto reference = Object::steal(checked(PyWeakref_NewRef(array, nullptr)));
    shared_.blocks.forget(address);
    arrays_.insert_or_assign(address, std::move(reference));
    if (arrays_.size() > kMost)
      std::erase_if(arrays_, [](const auto& item) { return !referent(item.second); });
  }

  static Object referent(const Object& reference) {
    auto object = Object::steal(checked(PyObject_CallNoArgs(reference.get())));
    return object.get() == Py_None ? Object{} : std::move(object);
  }

  static constexpr std::size_t kMost = 256;

  SharedBlocks& shared_ = SharedBlocks::get();
  // Weak references, by the address of the first element.
  std::unordered_map<std::uintptr_t, Object> arrays_;
};

Live& live() {
  // It is never deleted, because user code may fork and end the process in any way.
  static Live* live = new Live;
  return *live;
}

// Finds blocks of arrays that are alive.
class Donors {
 public:
  Donors() : places_(live().places()) {}

  /// Copies the block's elements. False when no array has it.
  bool give(const Encoded& block, const Items& to) {
    if (places_.empty() || to.size() != Atoms::kPerBlock) return false;
    const auto digest = digest_of(block.all);
    const auto found = places_.find(digest);
    if (found == places_.end()) return false;
    const auto [address, index] = found->second;
    auto [donor, is_new] = donors_.try_emplace(address);
    if (is_new) donor->second = looked_at(address);
    if (donor->second == nullptr || index >= donor->second->atoms.blocks().size() ||
        donor->second->atoms.blocks()[index].digest != digest)
      return false;
    const auto from = donor->second->view.items().block(index);
    copy(from, to);
    return true;
  }

 private:
  struct Donor {
    explicit Donor(PyObject* array) : atoms(array, false), view(array) {}
    Atoms atoms;
    View view;
  };

  static std::unique_ptr<Donor> looked_at(std::uintptr_t address) {
    const auto array = live().at(address);
    if (!array) return nullptr;
    try {
      auto donor = std::make_unique<Donor>(array.get());
      const auto now = reinterpret_cast<std::uintptr_t>(donor->view.items().memory().data());
      return now == address ? std::move(donor) : nullptr;
    } catch (const Atoms::NotAtoms&) {
      return nullptr;
    } catch (const PythonError&) {
      PyErr_Clear();
      return nullptr;
    }
  }

  std::unordered_map<BlockDigest, Live::Place, BlockDigest::Hash> places_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Donor>> donors_;
};

}  // namespace

Atoms::Atoms(PyObject* array, bool keep) : array_(Object::share(array)) {
  const View view(array);
  blocks_ = live().blocks_of(array, view.items(), keep ? &kept_ : nullptr);
}

void Atoms::Kept::add(const Block& block, Object bytes) {
  if (total_ + block.size > kMax || !blocks_.try_emplace(block.digest, std::move(bytes)).second) return;
  size_ += block.size;
  total_ += block.size;
}

PyObject* Atoms::Kept::find(const BlockDigest& digest) const {
  const auto found = blocks_.find(digest);
  return found == blocks_.end() ? nullptr : found->second.get();
}

Object Atoms::block(std::size_t index) const {
  if (index >= blocks_.size()) throw std::out_of_range("no such block");
  if (PyObject* const kept = kept_.find(blocks_[index].digest)) return Object::share(kept);
  const View view(array_.get());
  return encoded(view.items().block(index));
}

void Atoms::fill(PyObject* array, std::span<const Piece> pieces) {
  const View view(array);
  auto items = view.items();
  const auto next = [&items](std::size_t count) {
    if (count > items.size()) throw std::invalid_argument("more elements than the array has");
    const auto to = items.part(0, count);
    items = items.part(count, items.size() - count);
    return to;
  };
  std::optional<Donors> donors;
  if (Blocks::remembers(items.memory().size(), items.cut())) donors.emplace();
  std::vector<Block> filled;
  Texts texts;
  // The blocks that each donor has at this moment.
  std::unordered_map<const Atoms*, std::vector<Block>> looks;
  for (const auto& piece : pieces) {
    if (piece.donor != nullptr) {
      const View from(piece.donor->array_.get());
      if (piece.index >= piece.donor->blocks_.size()) throw std::invalid_argument("no such block");
      auto& look = looks[piece.donor];
      if (look.empty()) look = live().blocks_of(piece.donor->array_.get(), from.items(), nullptr);
      if (look.size() <= piece.index || look[piece.index].digest != piece.donor->blocks_[piece.index].digest)
        throw Written{};
      const auto given = from.items().block(piece.index);
      copy(given, next(given.size()));
      filled.push_back(piece.donor->blocks_[piece.index]);
      continue;
    }
    for (auto bytes = piece.bytes; !bytes.empty();) {
      const auto block = take_block(bytes);
      const auto to = next(block.heads.size());
      if (!donors || !donors->give(block, to)) decode(block, to, texts);
      if (donors) filled.push_back({digest_of(block.all), block.all.size()});
    }
  }
  if (!items.empty()) throw std::invalid_argument("fewer elements than the array has");
  if (donors) live().remember(array, view.items(), std::move(filled));
}

}  // namespace banyan
