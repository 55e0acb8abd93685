#include "core/jupyter/ws_v1.h"

#include <cstdint>
#include <string>
#include <utility>

#include "core/jupyter/json_text.h"

namespace banyan::jupyter {
namespace {

constexpr std::uint64_t kOffsetBytes = 8;
constexpr std::uint64_t kFixedParts = 5;  // channel, header, parent_header, metadata, content
constexpr std::size_t kCopiedContentMax =
    16 << 10;  // bytes; smaller contents are copied behind the header, so that there is one piece to write

void put_u64(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
}

std::uint64_t get_u64(std::string_view bytes, std::uint64_t at) {
  std::uint64_t value = 0;
  for (std::uint64_t i = kOffsetBytes; i-- > 0;)
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

struct Part {
  std::size_t index;
  const char* name;
  std::string* text;
};

Result<Blob> object_part(const Blob& text, std::string_view name) {
  if (text.empty()) return Blob("{}");
  if (auto valid = check_object(text.view()); !valid) {
    return fail(ErrorKind::kInvalid, std::string(name) + " is " + valid.error().message);
  }
  return text;
}

// The parts that the table of offsets delimits, channel first.
Result<std::vector<Blob>> cut(const Blob& bytes) {
  const std::uint64_t size = bytes.size();
  if (size < kOffsetBytes) return fail(ErrorKind::kCorrupt, "the frame is shorter than its offset count");
  const std::uint64_t count = get_u64(bytes.view(), 0);
  if (count < kFixedParts + 1) return fail(ErrorKind::kCorrupt, "the frame has too few offsets");
  if (count > size / kOffsetBytes - 1) return fail(ErrorKind::kCorrupt, "the frame ends within its offsets");
  std::vector<Blob> parts;
  parts.reserve(count - 1);
  std::uint64_t start = get_u64(bytes.view(), kOffsetBytes);
  if (start < kOffsetBytes * (count + 1))
    return fail(ErrorKind::kCorrupt, "the first part overlaps the offsets");
  for (std::uint64_t i = 2; i <= count; ++i) {
    const std::uint64_t end = get_u64(bytes.view(), kOffsetBytes * i);
    if (end < start) return fail(ErrorKind::kCorrupt, "the offsets of the frame overlap");
    if (end > size) return fail(ErrorKind::kCorrupt, "the frame is shorter than its offsets say");
    parts.push_back(bytes.part(start, end - start));
    start = end;
  }
  if (start != size) return fail(ErrorKind::kCorrupt, "the frame is longer than its offsets say");
  return parts;
}

}  // namespace

Frame encode_v1(const Message& message) {
  const std::string_view channel = name_of(message.channel);
  const std::uint64_t count = kFixedParts + message.buffers.size() + 1;
  const bool copy_content = message.content.size() <= kCopiedContentMax;
  const std::size_t parts =
      channel.size() + message.header.size() + message.parent_header.size() + message.metadata.size();

  std::string head;
  head.reserve(kOffsetBytes * (count + 1) + parts + (copy_content ? message.content.size() : 0));
  put_u64(head, count);
  std::uint64_t offset = kOffsetBytes * (count + 1);
  put_u64(head, offset);
  const auto add_part = [&](std::size_t size) { put_u64(head, offset += size); };
  add_part(channel.size());
  add_part(message.header.size());
  add_part(message.parent_header.size());
  add_part(message.metadata.size());
  add_part(message.content.size());
  for (const Blob& buffer : message.buffers) add_part(buffer.size());

  head.append(channel).append(message.header).append(message.parent_header).append(message.metadata);
  if (copy_content) head += message.content.view();
  Frame frame{FrameKind::kBinary, {}};
  frame.pieces.emplace_back(std::move(head));
  if (!copy_content) frame.pieces.push_back(message.content);
  frame.pieces.insert(frame.pieces.end(), message.buffers.begin(), message.buffers.end());
  return frame;
}

Result<Message> decode_v1(const Blob& bytes) {
  auto parts = cut(bytes);
  if (!parts) return fail(parts.error().kind, std::move(parts.error().message));
  const auto channel = channel_of((*parts)[0].view());
  if (!channel) return fail(ErrorKind::kCorrupt, "the frame names an unknown channel");
  Message message;
  message.channel = *channel;
  if (auto header = parse_header((*parts)[1].view()); !header) {
    return fail(ErrorKind::kInvalid, "header: " + header.error().message);
  }
  for (const auto& [index, name, text] :
       {Part{1, "header", &message.header}, Part{2, "parent_header", &message.parent_header},
        Part{3, "metadata", &message.metadata}}) {
    auto valid = object_part((*parts)[index], name);
    if (!valid) return fail(valid.error().kind, std::move(valid.error().message));
    *text = valid->view();
  }
  auto content = object_part((*parts)[4], "content");
  if (!content) return fail(content.error().kind, std::move(content.error().message));
  message.content = std::move(*content);
  message.buffers.assign(std::make_move_iterator(parts->begin() + kFixedParts),
                         std::make_move_iterator(parts->end()));
  return message;
}

}  // namespace banyan::jupyter
