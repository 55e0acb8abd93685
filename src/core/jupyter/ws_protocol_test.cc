#include "core/jupyter/ws_protocol.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "core/jupyter/json_text.h"
#include "core/jupyter/ws_legacy.h"
#include "core/jupyter/ws_v1.h"

namespace banyan::jupyter {
namespace {

using namespace std::string_literals;

const std::string kHeader =
    R"({"msg_id":"m1","msg_type":"comm_msg","session":"s","username":"","date":"","version":"5.4"})";

Message message(std::vector<Blob> buffers = {}) {
  return {.channel = Channel::kControl,
          .header = kHeader,
          .parent_header = R"({"msg_id":"p"})",
          .metadata = R"({"cellId":"c"})",
          .content = Blob(R"({"data":"é"})"),
          .buffers = std::move(buffers)};
}

Message with_content(std::size_t bytes) {
  Message large = message({Blob("tail")});
  large.content = Blob("{\"text\":\"" + std::string(bytes, 'x') + "\"}");
  return large;
}

std::string u64(std::uint64_t value) {
  std::string out;
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
  return out;
}

std::string u32(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
  return out;
}

tl::expected<Message, Violation> round_trip(SubProtocol protocol, const Message& original) {
  const auto frame = encode_frame(protocol, original);
  EXPECT_TRUE(frame);
  return decode_frame(protocol, frame->kind, Blob(frame->joined()));
}

int close_code(SubProtocol protocol, FrameKind kind, const std::string& bytes) {
  const auto decoded = decode_frame(protocol, kind, Blob(bytes));
  return decoded ? 0 : decoded.error().close_code;
}

TEST(WsProtocol, SpeaksV1WhenItIsOffered) {
  EXPECT_EQ(choose_sub_protocol(""), SubProtocol::kLegacy);
  EXPECT_EQ(choose_sub_protocol("v1.kernel.websocket.jupyter.org"), SubProtocol::kV1);
  EXPECT_EQ(choose_sub_protocol("other, v1.kernel.websocket.jupyter.org"), SubProtocol::kV1);
  EXPECT_EQ(choose_sub_protocol("v2.kernel.websocket.jupyter.org,other"), SubProtocol::kLegacy);
}

TEST(WsProtocol, CarriesAMessageThereAndBack) {
  for (const SubProtocol protocol : {SubProtocol::kLegacy, SubProtocol::kV1}) {
    for (const Message& original :
         {message(), message({Blob("\xFF\x00binary"s)}), message({Blob("a"), Blob(), Blob("ccc")}),
          with_content(100), with_content(1 << 20)}) {
      const auto back = round_trip(protocol, original);
      ASSERT_TRUE(back) << back.error().reason;
      EXPECT_EQ(*back, original);
    }
  }
}

TEST(WsProtocol, CarriesPartsByteForByte) {
  Message odd = message();
  odd.header.insert(1, " \n");
  odd.content = Blob("{ \"n\" : NaN , \"u\" : \"\\u00e9\" }");
  for (const SubProtocol protocol : {SubProtocol::kLegacy, SubProtocol::kV1}) {
    const auto back = round_trip(protocol, odd);
    ASSERT_TRUE(back) << back.error().reason;
    EXPECT_EQ(*back, odd);
  }
}

TEST(WsProtocol, RepairsTextThatAKernelBroke) {
  Message output = message();
  output.content = Blob("{\"text\":\"lone surrogate \xED\xB2\x80\"}");
  for (const SubProtocol protocol : {SubProtocol::kLegacy, SubProtocol::kV1}) {
    const auto back = round_trip(protocol, output);
    ASSERT_TRUE(back) << back.error().reason;
    EXPECT_EQ(back->content.view(), "{\"text\":\"lone surrogate \uFFFD\uFFFD\uFFFD\"}");
  }
}

TEST(WsLegacy, PutsTheChannelAndTheIdsIntoTheJson) {
  const auto frame = encode_legacy(message());
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->kind, FrameKind::kText);
  EXPECT_EQ(frame->joined(),
            R"({"channel":"control","msg_id":"m1","msg_type":"comm_msg","header":)" + kHeader +
                R"(,"parent_header":{"msg_id":"p"},"metadata":{"cellId":"c"},"buffers":[],)" +
                R"("content":{"data":"é"}})");
}

TEST(WsLegacy, PutsBuffersBehindBigEndianOffsets) {
  const auto frame = encode_legacy(message({Blob("one"), Blob("three")}));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->kind, FrameKind::kBinary);
  const std::string bytes = frame->joined();
  const auto json_end = static_cast<std::uint32_t>(bytes.size() - 8);
  EXPECT_EQ(bytes.substr(0, 16), u32(3) + u32(16) + u32(json_end) + u32(json_end + 3));
  EXPECT_TRUE(check_object(std::string_view(bytes).substr(16, json_end - 16)));
  EXPECT_EQ(bytes.substr(json_end), "onethree");
}

TEST(WsLegacy, FillsInWhatClientsLeaveOut) {
  const auto decoded =
      decode_legacy_text(Blob("{\"header\":" + kHeader + ",\"parent_header\":null,\"buffers\":[],\"x\":1}"));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->channel, Channel::kShell);
  EXPECT_EQ(decoded->parent_header, "{}");
  EXPECT_EQ(decoded->metadata, "{}");
  EXPECT_EQ(decoded->content.view(), "{}");
}

TEST(WsLegacy, RefusesTextThatIsNoMessage) {
  const auto code = [](const std::string& text) {
    return close_code(SubProtocol::kLegacy, FrameKind::kText, text);
  };
  const std::string header = "\"header\":" + kHeader;
  EXPECT_EQ(code("{" + header + "}"), 0);
  EXPECT_EQ(code(""), 1007);
  EXPECT_EQ(code("{" + header), 1007);
  EXPECT_EQ(code("[1]"), 1007);
  EXPECT_EQ(code("{}"), 1007) << "no header";
  EXPECT_EQ(code("{\"header\":[]}"), 1007);
  EXPECT_EQ(code("{" + header + ",\"content\":\"text\"}"), 1007);
  EXPECT_EQ(code("{" + header + ",\"channel\":\"hb\"}"), 1007);
  EXPECT_EQ(code("{" + header + ",\"channel\":7}"), 1007);
}

TEST(WsLegacy, RefusesBrokenFraming) {
  const auto code = [](const std::string& bytes) {
    return close_code(SubProtocol::kLegacy, FrameKind::kBinary, bytes);
  };
  const std::string json = "{\"header\":" + kHeader + "}";
  const auto end = static_cast<std::uint32_t>(json.size());
  EXPECT_EQ(code(u32(1) + u32(8) + json), 0);
  EXPECT_EQ(code(u32(2) + u32(12) + u32(12 + end) + json + "buffer"), 0);
  EXPECT_EQ(code(""), 1002);
  EXPECT_EQ(code("abc"), 1002);
  EXPECT_EQ(code(u32(0)), 1002) << "no part";
  EXPECT_EQ(code(u32(2) + u32(12)), 1002) << "cut within the offsets";
  EXPECT_EQ(code(u32(0xFFFFFFFF) + u32(8) + json), 1002) << "a count beyond the frame";
  EXPECT_EQ(code(u32(1) + u32(0) + json), 1002) << "JSON over the offsets";
  EXPECT_EQ(code(u32(1) + u32(9999) + json), 1002) << "JSON beyond the frame";
  EXPECT_EQ(code(u32(2) + u32(12) + u32(9999) + json), 1002) << "buffer beyond the frame";
  EXPECT_EQ(code(u32(3) + u32(16) + u32(16 + end) + u32(20) + json), 1002) << "offsets run back";
}

// A v1 frame of these parts; `shift` moves every offset.
std::string v1(const std::vector<std::string>& parts, std::uint64_t shift = 0) {
  std::uint64_t offset = 8 * (parts.size() + 2);
  std::string table = u64(parts.size() + 1) + u64(offset + shift);
  std::string body;
  for (const std::string& part : parts) {
    table += u64((offset += part.size()) + shift);
    body += part;
  }
  return table + body;
}

TEST(WsV1, PutsPartsBehindLittleEndianOffsets) {
  const Frame frame = encode_v1(message({Blob("one"), Blob("three")}));
  EXPECT_EQ(frame.kind, FrameKind::kBinary);
  EXPECT_EQ(frame.joined(), v1({"control", kHeader, R"({"msg_id":"p"})", R"({"cellId":"c"})",
                                R"({"data":"é"})", "one", "three"}));
}

TEST(WsV1, ReadsAnEmptyPartAsAnEmptyObject) {
  const auto decoded = decode_v1(Blob(v1({"shell", kHeader, "", "", ""})));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->parent_header, "{}");
  EXPECT_EQ(decoded->metadata, "{}");
  EXPECT_EQ(decoded->content.view(), "{}");
}

TEST(WsV1, RefusesBrokenFraming) {
  const auto code = [](const std::string& bytes) {
    return close_code(SubProtocol::kV1, FrameKind::kBinary, bytes);
  };
  const std::vector<std::string> parts = {"shell", kHeader, "{}", "{}", "{}"};
  const std::string good = v1(parts);
  EXPECT_EQ(code(good), 0);
  EXPECT_EQ(code(good + "x"), 1002) << "bytes behind the last offset";
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_EQ(code(good.substr(0, length)), 1002) << length;
  EXPECT_EQ(code(v1({"shell", kHeader, "{}", "{}"})), 1002) << "a part is missing";
  EXPECT_EQ(code(v1({"heart", kHeader, "{}", "{}", "{}"})), 1002) << "unknown channel";
  EXPECT_EQ(code(v1(parts, 1)), 1002);
  EXPECT_EQ(code(v1(parts, ~std::uint64_t{0} - 7)), 1002) << "the first part lies over the offsets";
  for (const std::uint64_t count :
       {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    EXPECT_EQ(code(u64(count) + good.substr(8)), 1002) << count;
  }
  EXPECT_EQ(code(good.substr(0, 16) + u64(1) + good.substr(24)), 1002) << "offsets run back";
  EXPECT_EQ(code(good.substr(0, 16) + u64(~std::uint64_t{0}) + good.substr(24)), 1002)
      << "an offset near 2^64";
}

TEST(WsV1, RefusesPartsThatAreNoJson) {
  const auto code = [](const std::vector<std::string>& parts) {
    return close_code(SubProtocol::kV1, FrameKind::kBinary, v1(parts));
  };
  EXPECT_EQ(code({"shell", "[]", "{}", "{}", "{}"}), 1007);
  EXPECT_EQ(code({"shell", "", "{}", "{}", "{}"}), 1007);
  EXPECT_EQ(code({"shell", kHeader, "{", "{}", "{}"}), 1007);
  EXPECT_EQ(code({"shell", kHeader, "{}", "1", "{}"}), 1007);
  EXPECT_EQ(code({"shell", kHeader, "{}", "{}", "{\"a\":\"\xFF\"}"}), 1007) << "not UTF-8";
  EXPECT_EQ(close_code(SubProtocol::kV1, FrameKind::kText, "{}"), 1003);
}

// Whatever is accepted is a message that can be sent on.
void expect_refused_or_sound(SubProtocol protocol, FrameKind kind, std::string bytes) {
  const auto decoded = decode_frame(protocol, kind, Blob(std::move(bytes)));
  if (!decoded) return;
  ASSERT_TRUE(parse_header(decoded->header));
  for (const std::string_view part : {std::string_view(decoded->parent_header),
                                      std::string_view(decoded->metadata), decoded->content.view()}) {
    ASSERT_TRUE(check_object(part)) << part;
  }
  for (const SubProtocol out : {SubProtocol::kLegacy, SubProtocol::kV1}) {
    const auto back = round_trip(out, *decoded);
    ASSERT_TRUE(back) << back.error().reason;
    ASSERT_EQ(*back, *decoded);
  }
}

TEST(WsProtocol, SurvivesRandomBytes) {
  Rng random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random.below(200), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(random.chance(0.5) ? 256 : 12));
    expect_refused_or_sound(SubProtocol::kLegacy, FrameKind::kText, bytes);
    expect_refused_or_sound(SubProtocol::kLegacy, FrameKind::kBinary, bytes);
    expect_refused_or_sound(SubProtocol::kV1, FrameKind::kBinary, bytes);
  }
}

TEST(WsProtocol, SurvivesDamagedFrames) {
  Rng random(8);
  for (const SubProtocol protocol : {SubProtocol::kLegacy, SubProtocol::kV1}) {
    const auto frame = encode_frame(protocol, message({Blob("one"), Blob("three")}));
    ASSERT_TRUE(frame);
    const std::string good = frame->joined();
    for (int round = 0; round < 20'000; ++round) {
      std::string damaged = good;
      for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
        damaged[random.below(random.chance(0.5) ? 80 : damaged.size())] =
            static_cast<char>(random.below(256));
      }
      if (random.chance(0.1)) damaged.resize(random.below(damaged.size()));
      expect_refused_or_sound(protocol, frame->kind, std::move(damaged));
    }
  }
}

}  // namespace
}  // namespace banyan::jupyter
