// Python bindings: argument conversion and the GIL; what the calls do is said in the headers and in
// _native.pyi.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "lease.h"
#include "memory.h"
#include "sharing.h"

namespace py = pybind11;

namespace banyan {
namespace {

// Contiguous views of Python buffers; released with the GIL held.
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

int py_write_sealed_memfd(const py::sequence& blobs) {
  const Buffers buffers(blobs);
  const py::gil_scoped_release release;
  return write_sealed_memfd(buffers.spans());
}

py::bytes py_digest(const py::sequence& parts) {
  const Buffers buffers(parts);
  std::vector<std::uint8_t> result;
  {
    const py::gil_scoped_release release;
    result = digest(buffers.spans());
  }
  return {reinterpret_cast<const char*>(result.data()), result.size()};
}

Slice slice(const std::shared_ptr<Mapping>& mapping, std::size_t at, std::size_t size) {
  const auto all = mapping->bytes();
  if (at > all.size() || size > all.size() - at) throw std::out_of_range("a blob lies outside its memfd");
  return {mapping, all.subspan(at, size)};
}

struct IdSet {
  ObjectIds ids;
};

IdSet py_owned_objects(const py::dict& memo, const py::dict& policy, const py::function& classify,
                       const std::unordered_set<std::uintptr_t>& functions, const py::set& classes) {
  auto ids = owned_objects(memo.ptr(), policy.ptr(), classify.ptr(), classes.ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  ids.insert(ids.end(), functions.begin(), functions.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return {std::move(ids)};
}

std::vector<std::size_t> py_components(const std::vector<const IdSet*>& changed,
                                       const std::vector<const IdSet*>& others) {
  std::vector<const ObjectIds*> sets;
  sets.reserve(changed.size() + others.size());
  for (const auto* set : changed) sets.push_back(&set->ids);
  for (const auto* set : others) sets.push_back(&set->ids);
  return components(sets, changed.size());
}

void die_with_parent(int parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot set the parent death signal");
  if (getppid() != parent) raise(SIGKILL);  // the parent ended before the call
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

  m.attr("BLOB_ALIGNMENT") = kBlobAlignment;
  m.attr("LEASE_EXPIRED") = kLeaseExpired;
  m.def("start_lease_watchdog", &start_lease_watchdog, py::arg("fd"));
  m.def("arm_lease", &arm_lease, py::call_guard<py::gil_scoped_release>());
  m.def("disarm_lease", &disarm_lease, py::call_guard<py::gil_scoped_release>());
  m.def("die_with_parent", &die_with_parent, py::arg("parent"));

  m.def("write_sealed_memfd", &py_write_sealed_memfd, py::arg("blobs"));
  m.def("digest", &py_digest, py::arg("parts"));
  py::class_<Mapping, std::shared_ptr<Mapping>>(m, "Mapping")
      .def(py::init<int>(), py::arg("fd"))
      .def("slice", &slice, py::arg("at"), py::arg("size"))
      .def("__len__", [](const Mapping& mapping) { return mapping.bytes().size(); });
  py::class_<Slice>(m, "Slice", py::buffer_protocol()).def_buffer([](Slice& part) {
    return py::buffer_info(reinterpret_cast<std::uint8_t*>(part.bytes.data()),
                           static_cast<py::ssize_t>(part.bytes.size()));
  });

  py::class_<IdSet>(m, "IdSet").def(py::init<>()).def("__len__", [](const IdSet& set) {
    return set.ids.size();
  });
  m.def("owned_objects", &py_owned_objects, py::arg("memo"), py::arg("policy"), py::arg("classify"),
        py::arg("functions"), py::arg("classes"));
  m.def("components", &py_components, py::arg("changed"), py::arg("others"));
}

}  // namespace banyan
