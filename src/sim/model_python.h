// What stands for Python in the simulator: a namespace of mutable numbers that names can share, and a tiny
// language for cells.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/session/command.h"

namespace banyan::sim {

/// Blocks of more bytes are chunks in every schedule. A worker knows which of them the session has.
inline constexpr std::uint64_t kLargeBlock = 256;

/// One statement of a cell; a cell's code is its statements joined by "; ".
struct Statement {
  enum class Op : std::uint8_t {
    kSet,       ///< set a 5      a new object
    kBig,       ///< big a 900    a new object with so many bytes
    kAdd,       ///< add a 3      changes the object in place, for all names that share it
    kAlias,     ///< alias b a    b becomes another name of a's object
    kDel,       ///< del a        unbinds the name
    kUnserial,  ///< unserial a   a new object that cannot be serialised
    kPrint,     ///< print 3      makes so many outputs
    kSleep,     ///< sleep 20     takes so many ms; an interrupt ends it
    kStubborn,  ///< stubborn 20  takes so many ms; only a kill ends it earlier
    kFail,      ///< fail         raises an exception
    kCrash,     ///< crash        ends the process
    kUndo,      ///< undo 2       undoes so many cells that changed something
    kRedo,      ///< redo 1       redoes so many undos
  };
  Op op = Op::kPrint;
  std::string name;
  std::string other;
  std::uint64_t number = 0;
};

/// Reads the code of a cell. kInvalid when it is not in the language.
Result<std::vector<Statement>> parse_code(std::string_view code);
std::string code_of(const std::vector<Statement>& statements);

/// The bytes of an object that has so many.
std::string buffer_of(std::uint64_t number, std::uint64_t bytes);
/// The digest of a namespace with this Namespace::text().
std::string digest_of_namespace(std::string_view text);

/// The variables of a model worker, and what of them the session has been told.
class Namespace {
 public:
  /// Runs a statement that changes variables. Returns nothing on success, else the exception's text.
  std::optional<std::string> run(const Statement& statement);
  /// What changed since the last call of delta() or load().
  session::Delta delta();
  /// How load() ended. It binds the names of a co-variable; a block that comes without bytes must be one of
  /// those that the names had last.
  enum class Loaded : std::uint8_t {
    kWhole,
    kBroken,  ///< the bytes are not what delta() wrote
    kLacking  ///< a block without bytes is not known here
  };
  Loaded load(session::CoVariable value);
  void forget(const std::string& name);
  /// The names whose values the statements may read, with all names that share objects with them.
  [[nodiscard]] std::vector<std::string> reached(const std::vector<Statement>& statements) const;
  /// Like delta(), after a cell that ran again: which names have the value of its first run, and which
  /// differ.
  struct Repeated {
    std::vector<std::string> made;
    std::vector<std::string> changed;
    std::vector<session::Chunk> blocks = {};  ///< of `made`, those that are wanted
  };
  Repeated repeated(const std::vector<session::CoVariable>& makes, const std::set<Digest>& wanted = {});
  /// A hex digest of everything that can be serialised: names, values, and which names share an object.
  [[nodiscard]] std::string digest() const;
  /// The same, to be read: "a=5+0@a b=5+0@a " (namespace_text.h).
  [[nodiscard]] std::string text() const;

 private:
  struct Object {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    bool serialisable = true;
    std::uint64_t version = 0;
  };
  struct Seen {
    std::shared_ptr<const Object> object;
    std::uint64_t version = 0;
    std::vector<std::string> group;
  };
  [[nodiscard]] std::map<const Object*, std::vector<std::string>> groups() const;
  void settle();
  void note_stored(const session::CoVariable& value);

  std::map<std::string, std::shared_ptr<Object>> names_;
  std::map<std::string, Seen> seen_;
  /// For each name, the large blocks that the session has of its last value.
  std::map<std::string, std::map<Digest, Blob>> stored_;
};

}  // namespace banyan::sim
