#include "core/jupyter/message.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/jupyter/json_text.h"

namespace banyan::jupyter {

using nlohmann::json;

std::string_view name_of(Channel channel) {
  switch (channel) {
    case Channel::kShell:
      return "shell";
    case Channel::kControl:
      return "control";
    case Channel::kIopub:
      return "iopub";
    case Channel::kStdin:
      return "stdin";
  }
  return "unknown";
}

Result<Channel> channel_of(std::string_view name) {
  for (const Channel channel : {Channel::kShell, Channel::kControl, Channel::kIopub, Channel::kStdin}) {
    if (name == name_of(channel)) return channel;
  }
  return fail(ErrorKind::kInvalid,
              "no channel '" + std::string(name) + "'; use shell, control, iopub or stdin");
}

std::size_t Message::size() const {
  std::size_t bytes = header.size() + parent_header.size() + metadata.size() + content.size();
  for (const Blob& buffer : buffers) bytes += buffer.size();
  return bytes;
}

Result<Header> parse_header(std::string_view text) {
  const json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) return fail(ErrorKind::kInvalid, "a message header is no JSON object");
  Header header;
  const std::array<std::pair<const char*, std::string*>, 5> fields{{{"msg_id", &header.msg_id},
                                                                    {"session", &header.session},
                                                                    {"username", &header.username},
                                                                    {"msg_type", &header.msg_type},
                                                                    {"version", &header.version}}};
  for (const auto& [name, target] : fields) {
    const auto field = parsed.find(name);
    if (field == parsed.end() || field->is_null()) continue;
    if (!field->is_string())
      return fail(ErrorKind::kInvalid, "field '" + std::string(name) + "' of a message header is no string");
    *target = field->get<std::string>();
  }
  return header;
}

json object_of(std::string_view text) {
  if (!check_object(text)) return {};
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_object() ? std::move(parsed) : json();
}

Message make_message(Channel channel, std::string_view msg_type, std::string_view parent_header,
                     std::string content, const Author& author) {
  const json header = {{"msg_id", author.msg_id},      {"session", author.session}, {"username", "banyan"},
                       {"date", iso8601(author.date)}, {"msg_type", msg_type},      {"version", "5.4"}};
  return {.channel = channel,
          .header = header.dump(),
          .parent_header = std::string(parent_header),
          .metadata = "{}",
          .content = Blob(std::move(content)),
          .buffers = {}};
}

std::string iso8601(WallTime time) {
  constexpr std::int64_t kMicros = 1'000'000;
  std::int64_t seconds = time.us / kMicros;
  std::int64_t micros = time.us % kMicros;
  if (micros < 0) {
    micros += kMicros;
    --seconds;
  }
  const std::time_t stamp = seconds;
  std::tm parts{};
  gmtime_r(&stamp, &parts);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(micros));
  return text.data();
}

}  // namespace banyan::jupyter
