#include "local_module.h"

#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "local_session.h"

namespace py = pybind11;

namespace banyan {
namespace {

// A Python buffer as a Blob, without a copy. Whoever releases the last reference must hold the GIL.
Blob blob_of(const py::handle& object) {
  struct Lent {
    Py_buffer buffer{};
    Lent() = default;
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() { PyBuffer_Release(&buffer); }
  };
  auto lent = std::make_shared<Lent>();
  if (PyObject_GetBuffer(object.ptr(), &lent->buffer, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  const std::string_view bytes(static_cast<const char*>(lent->buffer.buf),
                               static_cast<std::size_t>(lent->buffer.len));
  return {std::move(lent), bytes};
}

py::bytes bytes_of(const Digest& digest) {
  std::string bytes;
  for (const std::uint64_t half : {digest.high, digest.low}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(half >> shift));
  }
  return py::bytes(bytes);
}

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) throw py::value_error(result.error().message);
  return std::move(*result);
}

// A part is the list of blocks of a pickle or of one of its buffers. A block is its bytes, or the digest and
// the size of a chunk of the store.

using Parts = std::vector<std::vector<py::object>>;
using Value = std::pair<std::vector<std::string>, Parts>;

session::Chunk chunk_of(const LocalSession& session, const py::object& block) {
  if (!py::isinstance<py::tuple>(block)) {
    Blob bytes = blob_of(block);
    return {digest_of(bytes.view()), bytes.size(), std::move(bytes)};
  }
  const auto [hex, size] = block.cast<std::pair<std::string, std::uint64_t>>();
  const auto digest = digest_from_hex(hex);
  if (!digest || !session.session().chunks().contains(*digest))
    throw py::value_error("a value names a block that is not there");
  return {*digest, size, {}};
}

session::CoVariable co_variable_of(const LocalSession& session, const Value& value) {
  const auto& [names, parts] = value;
  if (names.empty() || parts.empty()) throw py::value_error("a value has a name and a pickle");
  session::CoVariable made{.names = names, .blocks = {}, .parts = {}};
  for (const auto& part : parts) {
    for (const auto& block : part) made.blocks.push_back(chunk_of(session, block));
    made.parts.push_back(static_cast<std::uint32_t>(part.size()));
  }
  return made;
}

py::object block_of(const session::Chunk& chunk) {
  if (!chunk.bytes) return py::make_tuple(to_hex(chunk.digest), chunk.size);
  const std::string_view bytes = chunk.bytes->view();
  auto* made = PyByteArray_FromStringAndSize(bytes.data(), static_cast<py::ssize_t>(bytes.size()));
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

Parts parts_of(const session::CoVariable& value) {
  Parts parts;
  auto block = value.blocks.begin();
  for (const std::uint32_t size : value.parts) {
    auto& part = parts.emplace_back();
    for (std::uint32_t i = 0; i < size && block != value.blocks.end(); ++i)
      part.push_back(block_of(*block++));
  }
  return parts;
}

LocalStep commit(LocalSession& session, std::string code, bool ok, std::uint64_t count,
                 std::int64_t runtime_us, std::int64_t ended_at_us, const std::vector<Value>& changed,
                 std::vector<std::string> deleted, std::vector<std::string> failed,
                 std::vector<std::string> alone, std::vector<std::string> reads, bool reads_all,
                 std::vector<std::string> effects, std::vector<std::string> begun, bool looks) {
  session::Delta delta{.changed = {},
                       .deleted = std::move(deleted),
                       .failed = std::move(failed),
                       .footprint = {.reads = std::move(reads),
                                     .reads_all = reads_all,
                                     .effects = std::move(effects),
                                     .begun = std::move(begun)},
                       .alone = std::move(alone)};
  for (const Value& value : changed) delta.changed.push_back(co_variable_of(session, value));
  return session.commit({.code = std::move(code),
                         .status = ok ? session::Status::kOk : session::Status::kError,
                         .execution_count = count,
                         .runtime_us = runtime_us,
                         .ended_at_us = ended_at_us,
                         .delta = std::move(delta),
                         .looks = looks});
}

// The versions in `load`, each with all names that `view` binds to it.
std::vector<Value> values_of(const LocalSession& session, const checkpoint::View& load,
                             const checkpoint::View& view) {
  std::map<checkpoint::CoVariableId, std::vector<std::string>> versions;
  for (const auto& [name, version] : load) versions[version];
  for (const auto& [name, version] : view) {
    if (const auto found = versions.find(version); found != versions.end()) found->second.push_back(name);
  }
  std::vector<Value> values;
  for (auto& [version, names] : versions)
    values.emplace_back(std::move(names), parts_of(session.session().co_variable(version)));
  return values;
}

std::pair<std::vector<Value>, std::set<std::string>> behind(const LocalSession& session) {
  const checkpoint::Change change = session.behind();
  return {values_of(session, change.bound, session.session().view()), change.unbound};
}

py::object next_repeat(LocalSession& session) {
  const LocalRepeat* cell = session.next_repeat();
  if (cell == nullptr) return py::none();
  py::list makes;
  for (const session::CoVariable& value : cell->makes) {
    std::vector<std::string> blocks;
    for (const session::Chunk& block : value.blocks) blocks.push_back(to_hex(block.digest));
    py::dict made;
    made["names"] = value.names;
    made["blocks"] = blocks;
    makes.append(made);
  }
  return py::make_tuple(values_of(session, cell->load, cell->load), cell->unbind, cell->code, cell->fails,
                        makes);
}

py::dict chunks(const LocalSession& session) {
  py::dict found;
  for (const auto& [digest, uses] : session.session().chunks()) found[bytes_of(digest)] = uses;
  return found;
}

std::vector<std::string> names(const LocalSession& session) {
  std::vector<std::string> found;
  for (const auto& [name, version] : session.session().view()) found.push_back(name);
  return found;
}

std::vector<std::pair<py::bytes, Blob>> added(const LocalStep& step) {
  std::vector<std::pair<py::bytes, Blob>> chunks;
  for (const auto& [digest, bytes] : step.added) chunks.emplace_back(bytes_of(digest), bytes);
  return chunks;
}

std::vector<py::bytes> dropped(const LocalStep& step) {
  std::vector<py::bytes> digests;
  for (const Digest& digest : step.dropped) digests.push_back(bytes_of(digest));
  return digests;
}

}  // namespace

void bind_local_session(py::module_& m) {
  m.def("chunk_digest", [](const py::object& bytes) { return bytes_of(digest_of(blob_of(bytes).view())); });
  // For objects that must not be finalised in a forked child.
  m.def("keep_forever", [](py::object object) { (void)object.release(); });

  py::class_<Blob>(m, "Blob", py::buffer_protocol()).def_buffer([](const Blob& blob) {
    return py::buffer_info(reinterpret_cast<const std::uint8_t*>(blob.view().data()),
                           static_cast<py::ssize_t>(blob.size()));
  });
  py::class_<LocalStep>(m, "LocalStep")
      .def_property_readonly("record", [](const LocalStep& step) { return py::bytes(step.record); })
      .def_property_readonly("added", &added)
      .def_property_readonly("dropped", &dropped);
  py::class_<LocalSession>(m, "LocalSession")
      .def(py::init<const std::string&, std::uint64_t>(), py::arg("session_id"), py::arg("values_max"))
      .def_static(
          "restore",
          [](const py::object& bytes) { return value_or_raise(LocalSession::restore(blob_of(bytes))); })
      .def("snapshot",
           [](const LocalSession& session) { return py::bytes(std::string(session.snapshot().view())); })
      .def("replay", [](LocalSession& session,
                        const py::object& record) { (void)value_or_raise(session.replay(blob_of(record))); })
      .def("ask", [](LocalSession& session,
                     const std::string& question) { return value_or_raise(session.ask(question)); })
      .def("look", [](const LocalSession& session,
                      const std::string& question) { return value_or_raise(session.look(question)); })
      .def("commit", &commit, py::kw_only(), py::arg("code"), py::arg("ok"), py::arg("count"),
           py::arg("runtime_us"), py::arg("ended_at_us"), py::arg("changed"), py::arg("deleted"),
           py::arg("failed"), py::arg("alone"), py::arg("reads"), py::arg("reads_all"), py::arg("effects"),
           py::arg("begun"), py::arg("looks"))
      .def("restart", &LocalSession::restart)
      .def("behind", &behind)
      .def("next_repeat", &next_repeat)
      .def("repeated", &LocalSession::repeated, py::arg("made"), py::arg("changed"), py::arg("error"))
      .def("cannot_load", &LocalSession::cannot_load, py::arg("names"), py::arg("as_before"))
      .def_property_readonly("lost", &LocalSession::lost)
      .def_property_readonly("unread", &LocalSession::unread)
      .def("need", &LocalSession::need, py::arg("names"))
      .def("shows_head", &LocalSession::shows_head)
      .def_property_readonly("names", &names)
      .def_property_readonly("chunks", &chunks);
}

}  // namespace banyan
