#include "core/jupyter/ws_legacy.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "core/jupyter/json_text.h"

namespace banyan::jupyter {
namespace {

constexpr std::uint64_t kWord = 4;
constexpr std::size_t kCopyMax =
    16 << 10;  // bytes; smaller contents are copied into the text, so that there is one piece to write

void put_u32(std::string& out, std::uint64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

std::uint64_t get_u32(std::string_view bytes, std::uint64_t at) {
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < kWord; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

// The JSON as pieces. Content comes last, so that a large one can stay where it is.
std::vector<Blob> json_pieces(const Message& message) {
  std::string head;
  const bool copy_content = message.content.size() <= kCopyMax;
  head.reserve(192 + message.header.size() + message.parent_header.size() + message.metadata.size() +
               (copy_content ? message.content.size() : 0));
  head.append("{\"channel\":\"").append(name_of(message.channel)).append("\"");
  if (const auto header = members_of(message.header)) {
    for (const char* name : {"msg_id", "msg_type"}) {
      const std::string_view value = find_member(*header, name);
      if (!value.empty()) head.append(",\"").append(name).append("\":").append(value);
    }
  }
  head.append(",\"header\":").append(message.header);
  head.append(",\"parent_header\":").append(message.parent_header);
  head.append(",\"metadata\":").append(message.metadata);
  if (message.buffers.empty()) head.append(",\"buffers\":[]");
  head.append(",\"content\":");
  std::vector<Blob> pieces;
  if (message.content.empty()) {
    pieces.emplace_back(std::move(head.append("{}}")));
  } else if (copy_content) {
    pieces.emplace_back(std::move(head.append(message.content.view()).append("}")));
  } else {
    pieces.emplace_back(std::move(head));
    pieces.push_back(message.content);
    pieces.emplace_back(std::string("}"));
  }
  return pieces;
}

// The text of an object; empty when it is absent or null.
Result<std::string_view> object_member(const std::vector<JsonMember>& members, std::string_view name) {
  const std::string_view text = find_member(members, name);
  if (text.empty() || text == "null") return std::string_view();
  if (text.front() != '{') return fail(ErrorKind::kInvalid, std::string(name) + " is no JSON object");
  return text;
}

Result<Channel> channel_member(const std::vector<JsonMember>& members) {
  const std::string_view text = find_member(members, "channel");
  if (text.empty() || text == "null") return Channel::kShell;
  if (text.front() == '"') {
    if (auto channel = channel_of(text.substr(1, text.size() - 2))) return channel;
  }
  return fail(ErrorKind::kInvalid, "the message names an unknown channel");
}

}  // namespace

Result<Frame> encode_legacy(const Message& message) {
  std::vector<Blob> json = json_pieces(message);
  if (message.buffers.empty()) return Frame{FrameKind::kText, std::move(json)};

  std::uint64_t offset = kWord * (message.buffers.size() + 2);
  std::string table;
  table.reserve(offset);
  put_u32(table, message.buffers.size() + 1);
  put_u32(table, offset);
  for (const Blob& piece : json) offset += piece.size();
  put_u32(table, offset);
  for (std::size_t i = 0; i + 1 < message.buffers.size(); ++i)
    put_u32(table, offset += message.buffers[i].size());
  if (offset > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorKind::kTooLarge, "a legacy WebSocket message holds less than 4 GiB");
  }
  Frame frame{FrameKind::kBinary, {}};
  frame.pieces.reserve(1 + json.size() + message.buffers.size());
  frame.pieces.emplace_back(std::move(table));
  frame.pieces.insert(frame.pieces.end(), json.begin(), json.end());
  frame.pieces.insert(frame.pieces.end(), message.buffers.begin(), message.buffers.end());
  return frame;
}

Result<Message> decode_legacy_text(const Blob& bytes) {
  const auto members = members_of(bytes.view());
  if (!members) return fail(members.error().kind, members.error().message);
  const auto channel = channel_member(*members);
  if (!channel) return fail(channel.error().kind, channel.error().message);
  Message message;
  message.channel = *channel;
  message.header = find_member(*members, "header");
  if (auto header = parse_header(message.header); !header) {
    return fail(ErrorKind::kInvalid, "header: " + header.error().message);
  }
  const auto parent = object_member(*members, "parent_header");
  if (!parent) return fail(parent.error().kind, parent.error().message);
  const auto metadata = object_member(*members, "metadata");
  if (!metadata) return fail(metadata.error().kind, metadata.error().message);
  const auto content = object_member(*members, "content");
  if (!content) return fail(content.error().kind, content.error().message);
  if (!parent->empty()) message.parent_header = *parent;
  if (!metadata->empty()) message.metadata = *metadata;
  message.content =
      content->empty()
          ? Blob("{}")
          : bytes.part(static_cast<std::size_t>(content->data() - bytes.view().data()), content->size());
  return message;
}

Result<Message> decode_legacy_binary(const Blob& bytes) {
  const std::uint64_t size = bytes.size();
  if (size < kWord) return fail(ErrorKind::kCorrupt, "the frame is shorter than its offset count");
  const std::uint64_t count = get_u32(bytes.view(), 0);
  if (count == 0) return fail(ErrorKind::kCorrupt, "the frame has no offsets");
  if (count > size / kWord - 1) return fail(ErrorKind::kCorrupt, "the frame ends within its offsets");
  std::vector<Blob> parts;
  parts.reserve(count);
  std::uint64_t start = get_u32(bytes.view(), kWord);
  if (start < kWord * (count + 1)) return fail(ErrorKind::kCorrupt, "the JSON overlaps the offsets");
  for (std::uint64_t i = 2; i <= count + 1; ++i) {
    const std::uint64_t end = i <= count ? get_u32(bytes.view(), kWord * i) : size;
    if (end > size || start > size)
      return fail(ErrorKind::kCorrupt, "the frame is shorter than its offsets say");
    if (end < start) return fail(ErrorKind::kCorrupt, "the offsets of the frame overlap");
    parts.push_back(bytes.part(start, end - start));
    start = end;
  }
  auto message = decode_legacy_text(parts.front());
  if (!message) return message;
  message->buffers.assign(std::make_move_iterator(parts.begin() + 1), std::make_move_iterator(parts.end()));
  return message;
}

}  // namespace banyan::jupyter
