#include "sim/model_python.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "base/bytes.h"

namespace banyan::sim {

namespace {
using StatementOp = Statement::Op;
constexpr std::uint64_t kOutOfBand = 200;  // bytes; a larger object has a buffer beside its pickle

struct Form {
  std::string_view word;
  StatementOp op;
  bool name;
  bool other;
  bool number;
};
constexpr std::array<Form, 13> kForms{{{"set", StatementOp::kSet, true, false, true},
                                       {"big", StatementOp::kBig, true, false, true},
                                       {"add", StatementOp::kAdd, true, false, true},
                                       {"alias", StatementOp::kAlias, true, true, false},
                                       {"del", StatementOp::kDel, true, false, false},
                                       {"unserial", StatementOp::kUnserial, true, false, false},
                                       {"print", StatementOp::kPrint, false, false, true},
                                       {"sleep", StatementOp::kSleep, false, false, true},
                                       {"stubborn", StatementOp::kStubborn, false, false, true},
                                       {"fail", StatementOp::kFail, false, false, false},
                                       {"crash", StatementOp::kCrash, false, false, false},
                                       {"undo", StatementOp::kUndo, false, false, true},
                                       {"redo", StatementOp::kRedo, false, false, true}}};

std::string_view next_word(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return word;
}

std::optional<std::uint64_t> number_of(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

session::Chunk chunk_of(std::string bytes) {
  session::Chunk chunk;
  chunk.digest = digest_of(bytes);
  chunk.size = bytes.size();
  chunk.bytes = Blob(std::move(bytes));
  return chunk;
}
}  // namespace

std::string buffer_of(std::uint64_t number, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  for (std::uint64_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (number + i) % 26);
  return text;
}

std::string digest_of_namespace(std::string_view text) { return to_hex(digest_of(text)).substr(0, 16); }

Result<std::vector<Statement>> parse_code(std::string_view code) {
  std::vector<Statement> statements;
  while (!code.empty()) {
    std::string_view line = next_word(code, ';');
    while (line.starts_with(' ')) line.remove_prefix(1);
    const std::string_view word = next_word(line, ' ');
    const auto* form =
        std::find_if(kForms.begin(), kForms.end(), [&](const Form& f) { return f.word == word; });
    if (form == kForms.end()) return fail(ErrorKind::kInvalid, "no statement '" + std::string(word) + "'");
    Statement statement{form->op, {}, {}, 0};
    if (form->name) statement.name = next_word(line, ' ');
    if (form->other) statement.other = next_word(line, ' ');
    if (form->number) {
      const auto number = number_of(next_word(line, ' '));
      if (!number) return fail(ErrorKind::kInvalid, "'" + std::string(word) + "' needs a number");
      statement.number = *number;
    }
    statements.push_back(std::move(statement));
  }
  return statements;
}

std::string code_of(const std::vector<Statement>& statements) {
  std::string code;
  for (const Statement& statement : statements) {
    const auto* form =
        std::find_if(kForms.begin(), kForms.end(), [&](const Form& f) { return f.op == statement.op; });
    if (!code.empty()) code += "; ";
    code += form->word;
    if (form->name) code += " " + statement.name;
    if (form->other) code += " " + statement.other;
    if (form->number) code += " " + std::to_string(statement.number);
  }
  return code;
}

std::optional<std::string> Namespace::run(const Statement& statement) {
  const auto bind = [&](Object object) { names_[statement.name] = std::make_shared<Object>(object); };
  const auto missing = [](const std::string& name) { return "NameError: " + name; };
  switch (statement.op) {
    case StatementOp::kSet:
      bind({.number = statement.number});
      break;
    case StatementOp::kBig:
      bind({.number = statement.number % 26, .bytes = statement.number});
      break;
    case StatementOp::kUnserial:
      bind({.serialisable = false});
      break;
    case StatementOp::kAdd: {
      const auto found = names_.find(statement.name);
      if (found == names_.end()) return missing(statement.name);
      found->second->number += statement.number;
      ++found->second->version;
      break;
    }
    case StatementOp::kAlias: {
      const auto found = names_.find(statement.other);
      if (found == names_.end()) return missing(statement.other);
      names_[statement.name] = found->second;
      break;
    }
    case StatementOp::kDel:
      if (names_.erase(statement.name) == 0) return missing(statement.name);
      break;
    case StatementOp::kFail:
      return "ValueError: the cell fails";
    case StatementOp::kPrint:
    case StatementOp::kSleep:
    case StatementOp::kStubborn:
    case StatementOp::kCrash:
    case StatementOp::kUndo:
    case StatementOp::kRedo:
      break;
  }
  return std::nullopt;
}

std::map<const Namespace::Object*, std::vector<std::string>> Namespace::groups() const {
  std::map<const Object*, std::vector<std::string>> groups;
  for (const auto& [name, object] : names_) groups[object.get()].push_back(name);
  return groups;
}

void Namespace::settle() {
  seen_.clear();
  const auto all = groups();
  for (const auto& [name, object] : names_) seen_[name] = {object, object->version, all.at(object.get())};
}

session::Delta Namespace::delta() {
  session::Delta delta;
  const auto all = groups();
  // Walk by name: the order of addresses differs from run to run and must not show.
  for (const auto& [name, object] : names_) {
    const auto& group = all.at(object.get());
    if (group.front() != name) continue;
    const bool changed = std::any_of(group.begin(), group.end(), [&](const std::string& member) {
      const auto seen = seen_.find(member);
      return seen == seen_.end() || seen->second.object != object ||
             seen->second.version != object->version ||
             !std::includes(seen->second.group.begin(), seen->second.group.end(), group.begin(), group.end());
    });
    if (!changed) continue;
    if (!object->serialisable) {
      for (const std::string& member : group) stored_.erase(member);
      delta.failed.insert(delta.failed.end(), group.begin(), group.end());
      if (group.size() == 1) delta.alone.push_back(group.front());
      continue;
    }
    session::CoVariable value;
    value.names = group;
    std::string pickle = std::to_string(object->number) + " " + std::to_string(object->bytes) + " ";
    const bool out_of_band = object->bytes > kOutOfBand;
    if (!out_of_band) pickle += buffer_of(object->number, object->bytes);
    value.blocks.push_back(chunk_of(std::move(pickle)));
    if (out_of_band) value.blocks.push_back(chunk_of(buffer_of(object->number, object->bytes)));
    value.parts.assign(value.blocks.size(), 1);
    const session::CoVariable whole = value;
    for (session::Chunk& block : value.blocks) {
      const bool known = std::ranges::any_of(
          group, [&](const std::string& member) { return stored_[member].contains(block.digest); });
      if (known) block.bytes.reset();
    }
    note_stored(whole);
    delta.changed.push_back(std::move(value));
  }
  for (const auto& [name, seen] : seen_) {
    if (names_.contains(name)) continue;
    delta.deleted.push_back(name);
    stored_.erase(name);
  }
  settle();
  return delta;
}

std::vector<std::string> Namespace::reached(const std::vector<Statement>& statements) const {
  std::set<std::string> names;
  for (const Statement& statement : statements) {
    for (const std::string& name : {statement.name, statement.other}) {
      if (name.empty()) continue;
      names.insert(name);
      if (const auto seen = seen_.find(name); seen != seen_.end())
        names.insert(seen->second.group.begin(), seen->second.group.end());
    }
  }
  return {names.begin(), names.end()};
}

Namespace::Repeated Namespace::repeated(const std::vector<session::CoVariable>& makes,
                                        const std::set<Digest>& wanted) {
  const session::Delta now = delta();
  Repeated result;
  for (const session::CoVariable& value : now.changed) {
    const auto same = [&](const session::CoVariable& made) {
      return made.names == value.names &&
             std::ranges::equal(made.blocks, value.blocks, {}, &session::Chunk::digest,
                                &session::Chunk::digest);
    };
    const auto as_then = std::ranges::find_if(makes, same);
    auto& names = as_then != makes.end() ? result.made : result.changed;
    names.insert(names.end(), value.names.begin(), value.names.end());
    if (as_then != makes.end())
      std::ranges::copy_if(value.blocks, std::back_inserter(result.blocks), [&](const session::Chunk& block) {
        return block.bytes && wanted.contains(block.digest);
      });
    if (as_then != makes.end() && as_then->kept) continue;
    for (const std::string& name : value.names)
      stored_.erase(name);  // the session has no blocks of this value
  }
  result.changed.insert(result.changed.end(), now.deleted.begin(), now.deleted.end());
  for (const std::string& name : now.failed) {
    const bool expected = std::ranges::any_of(makes, [&](const session::CoVariable& made) {
      return made.blocks.empty() && made.names.front() == name;
    });
    (expected ? result.made : result.changed).push_back(name);
  }
  return result;
}

void Namespace::note_stored(const session::CoVariable& value) {
  for (const std::string& name : value.names) {
    auto& blocks = stored_[name] = {};
    for (const session::Chunk& block : value.blocks)
      if (block.size > kLargeBlock) blocks.emplace(block.digest, *block.bytes);
  }
}

Namespace::Loaded Namespace::load(session::CoVariable value) {
  for (session::Chunk& block : value.blocks) {
    for (const std::string& name : value.names) {
      if (block.bytes) break;
      const auto& here = stored_[name];
      if (const auto found = here.find(block.digest); found != here.end()) block.bytes = found->second;
    }
    if (!block.bytes) return Loaded::kLacking;
  }
  if (value.blocks.empty()) return Loaded::kBroken;
  std::string_view pickle = value.blocks.front().bytes->view();
  const auto number = number_of(next_word(pickle, ' '));
  const auto bytes = number_of(next_word(pickle, ' '));
  if (!number || !bytes) return Loaded::kBroken;
  std::string_view body = pickle;
  if (*bytes > kOutOfBand) {
    if (value.blocks.size() != 2) return Loaded::kBroken;
    body = value.blocks.back().bytes->view();
  }
  if (body != buffer_of(*number, *bytes)) return Loaded::kBroken;
  const auto object = std::make_shared<Object>(Object{.number = *number, .bytes = *bytes});
  for (const std::string& name : value.names) names_[name] = object;
  note_stored(value);
  settle();
  return Loaded::kWhole;
}

void Namespace::forget(const std::string& name) {
  names_.erase(name);
  stored_.erase(name);
  settle();
}

std::string Namespace::text() const {
  std::string text;
  const auto all = groups();
  for (const auto& [name, object] : names_) {
    if (!object->serialisable) continue;
    text += name + "=" + std::to_string(object->number) + "+" + std::to_string(object->bytes) + "@" +
            all.at(object.get()).front() + " ";
  }
  return text;
}

std::string Namespace::digest() const { return digest_of_namespace(text()); }

}  // namespace banyan::sim
