#include "core/jupyter/json_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace banyan::jupyter {
namespace {

constexpr int kDepthMax = 512;  // well below the recursion limit of the Python parsers that come after us

// The characters that end the fast path within a string: quote, backslash, controls, and all that are not
// ASCII.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (std::size_t c = 0; c < 0x20; ++c) special[c] = true;
  for (std::size_t c = 0x80; c < 0x100; ++c) special[c] = true;
  special['"'] = special['\\'] = true;
  return special;
}();

constexpr bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The length of the UTF-8 sequence with which `text` begins; 0 when it is not well-formed (Unicode 15, table
// 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const std::uint8_t first = byte(0);
  const std::uint8_t second = byte(1);
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool whole_object(std::vector<JsonMember>* members) {
    space();
    if (peek() != '{') return wrong("an object is expected");
    if (!object(members)) return false;
    space();
    return at_ == text_.size() || wrong("there is text after the object");
  }

  [[nodiscard]] std::string error() const {
    return std::string("not valid JSON: ") + problem_ + " at byte " + std::to_string(at_);
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool wrong(const char* problem) {
    if (problem_ == nullptr) problem_ = problem;
    return false;
  }

  void space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
      ++at_;
    }
  }

  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return wrong("an unknown word stands");
    at_ += expected.size();
    return true;
  }

  bool value() {
    switch (peek()) {
      case '{':
        return object(nullptr);
      case '[':
        return array();
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      case 'N':
        return word("NaN");
      case 'I':
        return word("Infinity");
      default:
        return number();
    }
  }

  bool object(std::vector<JsonMember>* members) {
    if (++depth_ > kDepthMax) return wrong("values nest too deep");
    ++at_;
    space();
    if (!take('}')) {
      do {
        space();
        const std::size_t name = at_;
        if (peek() != '"' || !string()) return wrong("a member's name is expected");
        const std::size_t name_end = at_;
        space();
        if (!take(':')) return wrong("a colon is expected");
        space();
        const std::size_t start = at_;
        if (!value()) return false;
        if (members != nullptr) {
          members->push_back({text_.substr(name + 1, name_end - name - 2), text_.substr(start, at_ - start)});
        }
        space();
      } while (take(','));
      if (!take('}')) return wrong("a comma or the end of an object is expected");
    }
    --depth_;
    return true;
  }

  bool array() {
    if (++depth_ > kDepthMax) return wrong("values nest too deep");
    ++at_;
    space();
    if (!take(']')) {
      do {
        space();
        if (!value()) return false;
        space();
      } while (take(','));
      if (!take(']')) return wrong("a comma or the end of an array is expected");
    }
    --depth_;
    return true;
  }

  bool string() {
    ++at_;
    while (at_ < text_.size()) {
      const auto c = static_cast<std::uint8_t>(text_[at_]);
      if (!kSpecial[c]) {
        ++at_;
      } else if (c == '"') {
        ++at_;
        return true;
      } else if (c == '\\') {
        if (!escape()) return false;
      } else if (c < 0x20) {
        return wrong("a control character stands in a string");
      } else {
        const std::size_t length = utf8_length(text_.substr(at_));
        if (length == 0) return wrong("a string is not UTF-8");
        at_ += length;
      }
    }
    return wrong("a string does not end");
  }

  bool escape() {
    ++at_;
    const char c = peek();
    if (c == 'u') {
      for (int i = 0; i < 4; ++i) {
        ++at_;
        if (!is_hex(peek())) return wrong("an escape needs four hex digits");
      }
    } else if (c == '\0' || std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) {
      return wrong("an unknown escape stands in a string");
    }
    ++at_;
    return true;
  }

  bool digits() {
    const std::size_t start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > start || wrong("a value is expected");
  }

  bool number() {
    if (take('-') && peek() == 'I') return word("Infinity");
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace

Result<std::vector<JsonMember>> members_of(std::string_view text) {
  Scanner scanner(text);
  std::vector<JsonMember> members;
  if (!scanner.whole_object(&members)) return fail(ErrorKind::kInvalid, scanner.error());
  return members;
}

Result<Done> check_object(std::string_view text) {
  Scanner scanner(text);
  if (!scanner.whole_object(nullptr)) return fail(ErrorKind::kInvalid, scanner.error());
  return Done{};
}

bool is_utf8(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  while (!text.empty()) {
    std::uint64_t word = 0;
    while (text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if ((word & kHighBits) != 0) break;
      text.remove_prefix(sizeof word);
    }
    if (text.empty()) return true;
    const std::size_t length = static_cast<std::uint8_t>(text.front()) < 0x80 ? 1 : utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string repair_utf8(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  out.reserve(text.size() + 16);
  while (!text.empty()) {
    const std::size_t length = static_cast<std::uint8_t>(text.front()) < 0x80 ? 1 : utf8_length(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string_view find_member(const std::vector<JsonMember>& members, std::string_view name) {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->name == name) return member->value;
  }
  return {};
}

}  // namespace banyan::jupyter
