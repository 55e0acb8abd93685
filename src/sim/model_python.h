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

/// Blocks of more bytes travel beside the log, in all schedules; a worker knows which of them the session
/// has.
inline constexpr std::uint64_t kLargeBlock = 256;

/// One statement of a cell; a cell's code is its statements joined by "; ".
struct Statement {
  enum class Op : std::uint8_t {
    kSet,       ///< set a 5      a new object
    kBig,       ///< big a 900    a new object with so many bytes
    kAdd,       ///< add a 3      changes the object in place, for all names that share it
    kAlias,     ///< alias b a    b is a
    kDel,       ///< del a
    kUnserial,  ///< unserial a   a new object that cannot be serialised
    kPrint,     ///< print 3      so many outputs
    kSleep,     ///< sleep 20     ms; an interrupt ends it
    kStubborn,  ///< stubborn 20  ms; nothing but a kill ends it
    kFail,      ///< fail         raises
    kCrash,     ///< crash        ends the process
    kUndo,      ///< undo 2       the last cells that changed something
    kRedo,      ///< redo 1
  };
  Op op = Op::kPrint;
  std::string name;
  std::string other;
  std::uint64_t number = 0;
};

/// kInvalid when `code` is not in the language.
Result<std::vector<Statement>> parse_code(std::string_view code);
std::string code_of(const std::vector<Statement>& statements);

/// The variables of a worker.
class Namespace {
 public:
  /// Runs a statement that changes variables; nothing on success, the exception's text otherwise.
  std::optional<std::string> run(const Statement& statement);
  /// What changed since the last call of delta() or load().
  session::Delta delta();
  /// Binds the names of a co-variable. Blocks without bytes are those of what the names were last.
  enum class Loaded : std::uint8_t {
    kWhole,
    kBroken,  ///< the bytes are not what delta() wrote
    kLacking  ///< a block is not here
  };
  Loaded load(session::CoVariable value);
  void forget(const std::string& name);
  /// Names whose values statements may read, and those that share objects with them.
  [[nodiscard]] std::vector<std::string> reached(const std::vector<Statement>& statements) const;
  /// As delta(), after a cell that ran again: which names are what it made first, and which are not.
  struct Repeated {
    std::vector<std::string> made;
    std::vector<std::string> changed;
  };
  Repeated repeated(const std::vector<session::CoVariable>& makes);
  /// Hex digest of all that can be serialised: names, values, and which names share an object.
  [[nodiscard]] std::string digest() const;
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
  std::map<std::string, std::map<Digest, Blob>>
      stored_;  ///< large blocks that the session has of what a name was
};

}  // namespace banyan::sim
