// Python bindings: conversion of arguments, and the GIL. The headers and _native.pyi say what
// the functions do.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "atoms.h"
#include "audit.h"
#include "bindings.h"
#include "blocks.h"
#include "lease.h"
#include "local_module.h"
#include "memory.h"
#include "pickler.h"
#include "sharing.h"
#include "spill.h"
#include "text_sets.h"

namespace py = pybind11;

namespace banyan {
namespace {

// Contiguous views of Python buffers. The GIL must be held when they are released.
class Buffers {
 public:
  explicit Buffers(const py::sequence& objects) {
    views_.reserve(objects.size());
    for (const auto& object : objects) {
      Py_buffer view;
      if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) {
        release();
        throw py::error_already_set();
      }
      views_.push_back(view);
      spans_.emplace_back(static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len));
    }
  }
  ~Buffers() { release(); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] std::span<const std::span<const std::byte>> spans() const { return spans_; }

 private:
  void release() {
    for (auto& view : views_) PyBuffer_Release(&view);
  }

  std::vector<Py_buffer> views_;
  std::vector<std::span<const std::byte>> spans_;
};

py::list described(const std::vector<Block>& blocks) {
  py::list result;
  for (const auto& block : blocks) result.append(py::make_tuple(block.digest.hex(), block.size));
  return result;
}

void py_spool_add(Spool& spool, const py::sequence& blobs) {
  const Buffers buffers(blobs);
  const py::gil_scoped_release release;
  spool.add(buffers.spans());
}

py::bytes py_spill_block(const Spill& spill, std::size_t index) {
  const auto& [block, at] = spill.blocks().at(index);
  if (!at) throw std::invalid_argument("the bytes of a block that was known");
  auto bytes = py::reinterpret_steal<py::bytes>(
      PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(block.size)));
  if (!bytes) throw py::error_already_set();
  spill.spool()->read(*at, std::as_writable_bytes(std::span(PyBytes_AS_STRING(bytes.ptr()), block.size)));
  return bytes;
}

py::list py_spill_blocks(const Spill& spill) {
  std::vector<Block> blocks;
  for (const auto& each : spill.blocks()) blocks.push_back(each.block);
  return described(blocks);
}

Slice slice(const std::shared_ptr<Mapping>& mapping, std::size_t at, std::size_t size) {
  const auto all = mapping->bytes();
  if (at > all.size() || size > all.size() - at) throw std::out_of_range("a blob lies outside its memfd");
  return {mapping, all.subspan(at, size)};
}

Slice py_assemble(const py::sequence& pieces) {
  const Buffers buffers(pieces);
  const py::gil_scoped_release release;
  std::size_t size = 0;
  for (const auto piece : buffers.spans()) size += piece.size();
  auto mapping = std::make_shared<Mapping>(size);
  auto* at = mapping->bytes().data();
  for (const auto piece : buffers.spans()) at = std::copy(piece.begin(), piece.end(), at);
  return {mapping, mapping->bytes()};
}

/// Tuples of (id of an object, begin, end, Tenant).
using Notes = std::vector<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t, int>>;

template <class T>
PyTypeObject* type_of() {
  return reinterpret_cast<PyTypeObject*>(py::type::of<T>().ptr());
}

/// A text of ASCII whose buffer is its characters, without a copy.
struct Ascii {
  explicit Ascii(py::str its) : text(std::move(its)) {}

  py::str text;
};

/// Objects that are known by their address; they may no longer be alive.
struct Identities {
  void add(const py::object& object) { objects.insert(object.ptr()); }

  std::unordered_set<const PyObject*> objects;
};

/// A pickle. Its bytes are there once it has ended. It knows the objects that it met until someone asks for
/// the owned ones.
class Pickle {
 public:
  Pickle(const py::function& treat, const py::function& classify, const py::function& locate, py::set classes,
         const py::dict& namespace_dict, const py::function& live_namespace, const py::function& text_over,
         const py::function& live, std::shared_ptr<Identities> live_objects, bool remember_all,
         const std::shared_ptr<Spool>& spool, const py::function& known)
      : hooks_{treat, classify, locate, namespace_dict, live_namespace, text_over, live},
        live_objects_(std::move(live_objects)),
        classes_(std::move(classes)) {
    const PicklerHooks hooks{.treat = treat.ptr(),
                             .classify = classify.ptr(),
                             .locate = locate.ptr(),
                             .namespace_dict = namespace_dict.ptr(),
                             .live_namespace = live_namespace.ptr(),
                             .text_over = text_over.ptr(),
                             .live = live.ptr(),
                             .live_objects = &live_objects_->objects,
                             .ascii = py::type::of<Ascii>().ptr(),
                             .apart = type_of<Atoms>()};
    pickler_ = std::make_unique<Pickler>(hooks, remember_all);
    if (!spool) return;
    spill_ = std::make_shared<Spill>(
        spool, [known](const BlockDigest& digest) { return known(digest.hex()).cast<bool>(); });
    pickler_->stream().drain_to(
        [spill = spill_](auto bytes) { return spill->take(std::as_bytes(bytes), Blocks::End::kLater); });
  }

  void whole(const py::object& value) {
    guarded([&] { pickler_->whole(value.ptr()); });
    take();
  }

  void add(const py::str& name, const py::object& value, const Watch* watch) {
    guarded([&] { pickler_->add(name.ptr(), value.ptr(), watch); });
  }

  void end() {
    guarded([&] { pickler_->end(); });
    take();
  }

  void forget() { pickler_.reset(); }

  void note(Watch& watch, std::uint32_t number) {
    guarded([&] {
      const auto entries = pickler_->memo().entries();
      watch.note(number, entries.subspan(noted_), classes_.ptr());
      noted_ = entries.size();
    });
  }

  std::pair<Owned, std::vector<std::size_t>> owned(const Notes& notes) {
    std::vector<Memory> memory;
    memory.reserve(notes.size());
    for (const auto& [object, begin, end, tenant] : notes)
      memory.push_back({.begin = begin, .end = end, .object = object, .tenant = static_cast<Tenant>(tenant)});
    for (PyObject* bytes : pickler_->lent()) {
      const auto begin = reinterpret_cast<std::uintptr_t>(PyByteArray_AS_STRING(bytes));
      const auto end = begin + static_cast<std::uintptr_t>(PyByteArray_GET_SIZE(bytes));
      const auto object = reinterpret_cast<std::uintptr_t>(bytes);
      memory.push_back({.begin = begin, .end = end, .object = object, .tenant = Tenant::kBytes});
    }
    Ownership found;
    guarded([&] {
      found = owned_objects(pickler_->memo(), pickler_->sole(), pickler_->reaches(), classes_.ptr(), memory);
    });
    pickler_.reset();
    return {std::move(found.owned), std::move(found.labels)};
  }

  [[nodiscard]] const std::vector<py::object>& buffers() const { return buffers_; }
  [[nodiscard]] std::span<std::uint8_t> bytes() { return stream_.bytes(); }
  [[nodiscard]] std::shared_ptr<Spill> spill() const {
    return ended_ && stream_.size() == 0 ? spill_ : nullptr;
  }

 private:
  void guarded(const auto& call) {
    if (!pickler_) throw std::logic_error("this pickle was made, and what it met forgotten");
    try {
      call();
    } catch (const PythonError&) {
      throw py::error_already_set();
    }
  }

  void take() {
    for (auto& buffer : pickler_->buffers())
      buffers_.push_back(py::reinterpret_steal<py::object>(buffer.release()));
    stream_ = std::move(pickler_->stream());
    ended_ = true;
    if (stream_.bytes().size() == stream_.size()) return;
    spill_->take(std::as_bytes(stream_.bytes()), Blocks::End::kHere);
    stream_ = {};
  }

  std::vector<py::object> hooks_;
  std::shared_ptr<Identities> live_objects_;
  py::set classes_;
  std::unique_ptr<Pickler> pickler_;
  std::vector<py::object> buffers_;
  Stream stream_;
  std::shared_ptr<Spill> spill_;
  bool ended_ = false;
  std::size_t noted_ = 0;  // The number of entries of the memo that a watch was told of.
};

// Sets the exception of the Python module for a C++ exception.
void translate(const Pickler::Forgotten& /*error*/, const py::object& type) { PyErr_SetNone(type.ptr()); }
void translate(const Pickler::Met& met, const py::object& type) {
  const auto number = Object::steal(PyLong_FromSize_t(met.pickling));
  PyErr_SetObject(type.ptr(), number.get());
}

template <class T>
void bind_exception(py::module_& m, const char* name) {
  static PyObject* const type = py::exception<T>(m, name).release().ptr();
  py::register_local_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(std::move(error));
    } catch (const T& thrown) {
      translate(thrown, py::reinterpret_borrow<py::object>(type));
    }
  });
}

py::list py_pickle_blocks(const py::buffer& pickle) {
  const Buffers buffers(py::make_tuple(pickle));
  return described(Blocks::of_pickle(buffers.spans().front()));
}

py::list py_memory_blocks(const py::buffer& memory) {
  auto& known = SharedBlocks::get();
  const Buffers buffers(py::make_tuple(memory));
  std::vector<Block> blocks;
  {
    const py::gil_scoped_release release;
    const std::lock_guard lock(known.mutex);
    blocks = known.blocks.of_memory(buffers.spans().front());
  }
  return described(blocks);
}

py::bytes py_atoms_block(const Atoms& atoms, std::size_t index) {
  try {
    return py::reinterpret_steal<py::bytes>(atoms.block(index).release());
  } catch (const Atoms::NotAtoms&) {
    throw py::buffer_error("an array was written while it was read");
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
}

py::bytes py_atoms_bytes(const Atoms& atoms) {
  std::string all;
  for (std::size_t i = 0; i < atoms.blocks().size(); ++i) all += std::string(py_atoms_block(atoms, i));
  return all;
}

py::object py_atoms(const py::object& array) {
  try {
    return py::cast(Atoms(array.ptr()));
  } catch (const Atoms::NotAtoms&) {
    return py::none();
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
}

void py_fill_atoms(const py::object& array, const std::vector<py::object>& pieces) {
  py::list lent;
  for (const auto& piece : pieces)
    if (!py::isinstance<py::tuple>(piece)) lent.append(piece);
  const Buffers buffers(lent);
  auto bytes = buffers.spans().begin();
  std::vector<Atoms::Piece> given;
  for (const auto& piece : pieces) {
    if (py::isinstance<py::tuple>(piece)) {
      const auto [donor, index] = piece.cast<std::pair<const Atoms*, std::size_t>>();
      given.push_back({.bytes = {}, .donor = donor, .index = index});
    } else {
      given.push_back({.bytes = *bytes++});
    }
  }
  try {
    Atoms::fill(array.ptr(), given);
  } catch (const Atoms::NotAtoms&) {
    throw std::invalid_argument("not an array of objects");
  } catch (const Atoms::Written&) {
    throw py::buffer_error("an array was written while it was read");
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
}

py::bytes py_table_of_set(const py::object& set) {
  const auto digest = table_of(set.ptr());
  return {reinterpret_cast<const char*>(&digest), sizeof(digest)};
}

/// (sum, bytes or None) for each part; None when the set has something else than texts.
py::object py_parts_of_set(const py::object& set, unsigned bits, const std::vector<py::bytes>& known) {
  std::vector<BlockDigest> sums(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::string_view sum = known[i];
    if (sum.size() != sizeof(BlockDigest)) throw std::invalid_argument("no sum of a part");
    std::memcpy(&sums[i], sum.data(), sizeof(BlockDigest));
  }
  try {
    auto parts = parts_of(set.ptr(), bits, sums);
    if (!parts) return py::none();
    py::list all;
    for (TextPart& part : *parts) {
      const py::bytes sum(reinterpret_cast<const char*>(&part.sum), sizeof(part.sum));
      all.append(py::make_tuple(sum, part.bytes ? py::reinterpret_steal<py::object>(part.bytes.release())
                                                : py::object(py::none())));
    }
    return all;
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
}

py::object py_texts_of_part(const py::buffer& part) {
  const Buffers buffers(py::make_tuple(part));
  try {
    return py::reinterpret_steal<py::object>(texts_of(buffers.spans().front()).release());
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
}

py::object py_identities(const py::dict& names, const py::set& skip, const py::dict& hidden) {
  try {
    return py::reinterpret_steal<py::object>(identities(names.ptr(), skip.ptr(), hidden.ptr()).release());
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
}

std::vector<std::size_t> py_components(const std::vector<const Owned*>& changed,
                                       const std::vector<const Owned*>& others) {
  std::vector<const Owned*> sets = changed;
  sets.insert(sets.end(), others.begin(), others.end());
  return components(sets, changed.size());
}

void die_with_parent(int parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot set the parent death signal");
  if (getppid() != parent) raise(SIGKILL);  // The parent ended before the call.
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 wants this signature
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const std::system_error& error) {
      errno = error.code().value();
      PyErr_SetFromErrno(PyExc_OSError);
    }
  });

  m.attr("OUT_OF_BAND") = Pickler::kApart;
  m.attr("BLOB_ALIGNMENT") = kBlobAlignment;
  m.attr("LEASE_EXPIRED") = kLeaseExpired;
  m.def("start_lease_watchdog", &start_lease_watchdog, py::arg("fd"));
  m.def("arm_lease", &arm_lease, py::call_guard<py::gil_scoped_release>());
  m.def("disarm_lease", &disarm_lease, py::call_guard<py::gil_scoped_release>());
  py::class_<AuditListener>(m, "AuditListener")
      .def(py::init<const std::vector<std::string>&, py::function>(), py::arg("events"), py::arg("heard"))
      .def("listen", &AuditListener::listen, py::arg("on"));
  m.def("die_with_parent", &die_with_parent, py::arg("parent"));

  py::class_<Spool, std::shared_ptr<Spool>>(m, "Spool")
      .def(py::init<>())
      .def_property_readonly("end", &Spool::end)
      .def("add", &py_spool_add, py::arg("blobs"))
      .def("seal", &Spool::seal);
  py::class_<Spill, std::shared_ptr<Spill>>(m, "Spill")
      .def_property_readonly("blocks", &py_spill_blocks)
      .def_property_readonly("spool", &Spill::spool)
      .def(
          "at", [](const Spill& spill, std::size_t index) { return spill.blocks().at(index).at; },
          py::arg("index"))
      .def("block", &py_spill_block, py::arg("index"));
  py::class_<Mapping, std::shared_ptr<Mapping>>(m, "Mapping")
      .def(py::init<int>(), py::arg("fd"))
      .def("slice", &slice, py::arg("at"), py::arg("size"))
      .def("__len__", [](const Mapping& mapping) { return mapping.bytes().size(); });
  m.def("assemble", &py_assemble, py::arg("pieces"));
  py::class_<Slice>(m, "Slice", py::buffer_protocol()).def_buffer([](Slice& part) {
    return py::buffer_info(reinterpret_cast<std::uint8_t*>(part.bytes.data()),
                           static_cast<py::ssize_t>(part.bytes.size()));
  });

  py::class_<Owned>(m, "Owned")
      .def(py::init<>())
      .def("__len__", [](const Owned& owned) { return owned.ids.size(); })
      .def("shared_memory", [](const Owned& owned) {
        py::list found;
        for (const auto& memory : shared_memory(owned))
          found.append(py::make_tuple(memory.begin, memory.end, memory.bytes));
        return found;
      });
  py::class_<Ascii>(m, "Ascii", py::buffer_protocol()).def(py::init<py::str>()).def_buffer([](Ascii& ascii) {
    auto* bytes = static_cast<std::uint8_t*>(PyUnicode_DATA(ascii.text.ptr()));
    return py::buffer_info(bytes, PyUnicode_GET_LENGTH(ascii.text.ptr()), true);
  });
  py::class_<Watch>(m, "Watch").def(py::init<>());
  py::class_<Identities, std::shared_ptr<Identities>>(m, "Identities")
      .def(py::init<>())
      .def("add", &Identities::add, py::arg("object"));
  py::class_<Pickle>(m, "Pickle", py::buffer_protocol())
      .def(py::init<const py::function&, const py::function&, const py::function&, py::set, const py::dict&,
                    const py::function&, const py::function&, const py::function&,
                    std::shared_ptr<Identities>, bool, const std::shared_ptr<Spool>&, const py::function&>(),
           py::arg("treat"), py::arg("classify"), py::arg("locate"), py::arg("classes"), py::arg("namespace"),
           py::arg("live_namespace"), py::arg("text_over"), py::arg("live"), py::arg("live_objects"),
           py::kw_only(), py::arg("remember_all"), py::arg("spool"), py::arg("known"))
      .def("whole", &Pickle::whole, py::arg("value"))
      .def("add", &Pickle::add, py::arg("name"), py::arg("value"), py::arg("watch"))
      .def("end", &Pickle::end)
      .def("forget", &Pickle::forget)
      .def("note", &Pickle::note, py::arg("watch"), py::arg("number"))
      .def("owned", &Pickle::owned, py::arg("memory"))
      .def_property_readonly("buffers", &Pickle::buffers)
      .def_property_readonly("spill", &Pickle::spill)
      .def_buffer([](Pickle& pickle) {
        const auto bytes = pickle.bytes();
        return py::buffer_info(bytes.data(), static_cast<py::ssize_t>(bytes.size()), true);
      });
  bind_exception<Pickler::Forgotten>(m, "Forgotten");
  bind_exception<Pickler::Met>(m, "Met");
  m.def("pickle_blocks", &py_pickle_blocks, py::arg("pickle"));
  m.def("memory_blocks", &py_memory_blocks, py::arg("memory"));
  py::class_<Atoms>(m, "Atoms")
      .def_property_readonly("blocks", [](const Atoms& atoms) { return described(atoms.blocks()); })
      .def("block", &py_atoms_block, py::arg("index"))
      .def("__bytes__", &py_atoms_bytes);
  m.def("atoms", &py_atoms, py::arg("array"));
  m.def("fill_atoms", &py_fill_atoms, py::arg("array"), py::arg("pieces"));
  m.def("table_of_set", &py_table_of_set, py::arg("set"));
  m.def("parts_of_set", &py_parts_of_set, py::arg("set"), py::arg("bits"), py::arg("known"));
  m.def("texts_of_part", &py_texts_of_part, py::arg("part"));
  m.attr("LARGE_SET") = Pickler::kLargeSet;
  m.def("identities", &py_identities, py::arg("names"), py::arg("skip"), py::arg("hidden"));
  m.def("components", &py_components, py::arg("changed"), py::arg("others"));
  bind_local_session(m);
}

}  // namespace banyan
