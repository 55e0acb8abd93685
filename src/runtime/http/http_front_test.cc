#include "runtime/http/http_front.h"
#include "runtime/http/coroutine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <vector>

#include "runtime/http/client.h"
#include "runtime/http/testing.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using jupyter::Channel;
using jupyter::FrameKind;
using jupyter::Message;
using jupyter::SubProtocol;
using testing::HasSubstr;
using testing::Not;

/// A front whose node is this test: it keeps the events and lets the test answer.
class HttpFrontTest : public testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    auto front = HttpFront::listen(
        loop.io, std::move(options), [this](node::GatewayEvent event) { on_event(std::move(event)); },
        [this](const node::Log& line) { log += line.text + "\n"; });
    ASSERT_TRUE(front) << front.error().message;
    front_ = std::move(*front);
    endpoint = {.host = "127.0.0.1", .port = front_->port(), .base = {}, .token = "s3cret"};
  }

  void on_event(node::GatewayEvent event) {
    if (auto* request = std::get_if<node::HttpRequest>(&event)) {
      requests.push_back(*request);
      if (answer) front_->reply(answer(*request));
    } else if (auto* opening = std::get_if<node::ClientOpening>(&event)) {
      openings.push_back(*opening);
      if (opened) opened(opening->id);
    } else if (auto* from = std::get_if<node::FromClient>(&event)) {
      received.push_back(from->message);
      if (echo) front_->send(from->id, std::move(from->message));
    } else if (auto* gone = std::get_if<node::ClientDrained>(&event)) {
      drained[gone->id] += gone->bytes;
    } else if (auto* has = std::get_if<node::ClientConfirmed>(&event)) {
      confirmed.push_back(has->messages);
    } else if (auto* closed = std::get_if<node::ClientClosed>(&event)) {
      closings.push_back(closed->id);
    }
  }

  HttpAnswer call(HttpCall what) {
    auto result = loop.await(http_call(endpoint, std::move(what)));
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : HttpAnswer{};
  }

  /// Connects, or fails the test. The node accepts.
  MessageSocket open(SubProtocol protocol, SocketOptions options = {}) {
    if (!opened) opened = [this](ConnectionId id) { front_->accept(id); };
    auto socket = loop.await(MessageSocket::connect(endpoint, "/api/kernels/k/channels", protocol, options));
    if (!socket) ADD_FAILURE() << socket.error().message;
    return std::move(socket.value());
  }

  /// Sends bytes as they are and returns everything that comes back until the server closes.
  std::string raw(std::string bytes) {
    return loop.await([](TestLoop& l, std::uint16_t port, std::string out) -> asio::awaitable<std::string> {
      tcp::socket socket(l.io);
      co_await socket.async_connect({asio::ip::address_v4::loopback(), port}, kAwait);
      co_await asio::async_write(socket, asio::buffer(out), kAwait);
      std::string in;
      co_await asio::async_read(socket, asio::dynamic_buffer(in), kAwait);
      co_return in;
    }(loop, endpoint.port, std::move(bytes)));
  }

  Result<Message> next(MessageSocket& socket, Duration limit = 20s) {
    return loop.await(socket.read(), limit);
  }

  /// The code the server closes with, after which the client hears nothing more.
  int close_code(MessageSocket& socket) {
    EXPECT_FALSE(next(socket));
    return socket.close_code();
  }

  TestLoop loop;
  std::unique_ptr<HttpFront> front_;
  Endpoint endpoint;
  std::string log;
  std::vector<node::HttpRequest> requests;
  std::vector<node::ClientOpening> openings;
  std::vector<Message> received;
  std::vector<ConnectionId> closings;
  std::map<ConnectionId, std::uint64_t> drained;
  std::vector<std::uint64_t> confirmed;
  std::function<node::HttpReply(const node::HttpRequest&)> answer = [](const node::HttpRequest& request) {
    return node::HttpReply{request.id, 200, {}, "{}"};
  };
  std::function<void(ConnectionId)> opened;
  bool echo = true;
};

Message message(std::string content, std::vector<Blob> buffers = {}) {
  return {.channel = Channel::kShell,
          .header = R"({"msg_id":"m","msg_type":"comm_msg"})",
          .parent_header = "{}",
          .metadata = "{}",
          .content = Blob(std::move(content)),
          .buffers = std::move(buffers)};
}

Message text(std::size_t bytes) { return message("{\"text\":\"" + std::string(bytes, 'x') + "\"}"); }

// ---- HTTP

TEST_F(HttpFrontTest, AnswersARequest) {
  start();
  answer = [](const node::HttpRequest& request) {
    return node::HttpReply{request.id, 201, {{"Location", "/api/kernels/1"}}, R"({"id":"1"})"};
  };
  const HttpAnswer created = call({.method = "POST",
                                   .target = "/api/kernels?x=%20",
                                   .body = R"({"name":"python3"})",
                                   .headers = {{"X-Odd", "1"}}});
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.body, R"({"id":"1"})");
  EXPECT_EQ(created.headers.at("location"), "/api/kernels/1");
  EXPECT_EQ(created.headers.at("content-type"), "application/json");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/api/kernels?x=%20");
  EXPECT_EQ(requests[0].body, R"({"name":"python3"})");
  EXPECT_EQ(requests[0].headers.at("x-odd"), "1");
  EXPECT_EQ(requests[0].headers.at("authorization"), "token s3cret");
}

TEST_F(HttpFrontTest, SendsNoBodyWhereThereIsNone) {
  start();
  answer = [](const node::HttpRequest& request) { return node::HttpReply{request.id, 204, {}, ""}; };
  const HttpAnswer deleted = call({.method = "DELETE", .target = "/api/kernels/1"});
  EXPECT_EQ(deleted.status, 204);
  EXPECT_FALSE(deleted.headers.contains("content-length"));
  answer = [](const node::HttpRequest& request) { return node::HttpReply{request.id, 200, {}, "12345"}; };
  const HttpAnswer head = call({.method = "HEAD", .target = "/api"});
  EXPECT_EQ(head.headers.at("content-length"), "5");
  EXPECT_EQ(head.body, "");
}

TEST_F(HttpFrontTest, KeepsAConnectionForPipelinedRequestsInOrder) {
  start();
  answer = [](const node::HttpRequest& request) {
    return node::HttpReply{request.id, 200, {}, request.target};
  };
  const std::string reply =
      raw("GET /one HTTP/1.1\r\nHost: h\r\n\r\nGET /two HTTP/1.1\r\nHost: h\r\n\r\n"
          "GET /three HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::size_t one = reply.find("\r\n\r\n/one");
  const std::size_t two = reply.find("\r\n\r\n/two");
  const std::size_t three = reply.find("\r\n\r\n/three");
  EXPECT_LT(one, two);
  EXPECT_LT(two, three);
  EXPECT_NE(three, std::string::npos);
}

TEST_F(HttpFrontTest, AnswersALaterRequestOfAnotherConnectionFirst) {
  start();
  answer = nullptr;
  std::vector<std::string> done;
  for (const char* target : {"/slow", "/quick"}) {
    asio::co_spawn(
        loop.io,
        [](Endpoint where, std::string path, std::vector<std::string>& order) -> asio::awaitable<void> {
          (void)co_await http_call(where, {.target = path});
          order.push_back(path);
        }(endpoint, target, done),
        asio::detached);
  }
  ASSERT_TRUE(loop.until([&] { return requests.size() == 2; }));
  std::ranges::sort(requests, {}, &node::HttpRequest::target);
  front_->reply({requests[0].id, 200, {}, "{}"});
  ASSERT_TRUE(loop.until([&] { return done.size() == 1; }));
  front_->reply({requests[1].id, 200, {}, "{}"});
  ASSERT_TRUE(loop.until([&] { return done.size() == 2; }));
  EXPECT_EQ(done, (std::vector<std::string>{"/quick", "/slow"}));
}

TEST_F(HttpFrontTest, RefusesAMalformedRequestAndServesTheNextClient) {
  start();
  for (const char* bytes :
       {"garbage\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"}) {
    const std::string reply = raw(bytes);
    EXPECT_THAT(reply, HasSubstr(" 400 Bad Request")) << bytes;
    EXPECT_THAT(reply, HasSubstr("\"reason\":\"Bad Request\"")) << bytes;
  }
  EXPECT_TRUE(requests.empty());
  EXPECT_EQ(call({.target = "/api"}).status, 200);
}

TEST_F(HttpFrontTest, RefusesWhatIsTooLarge) {
  start({.body_bytes_max = 1000});
  EXPECT_EQ(call({.method = "POST", .target = "/", .body = std::string(1000, 'x')}).status, 200);
  EXPECT_EQ(call({.method = "POST", .target = "/", .body = std::string(1001, 'x')}).status, 413);
  EXPECT_EQ(call({.method = "POST", .target = "/", .body = std::string(3 << 20, 'x')}).status, 413);
  EXPECT_THAT(
      raw("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x') + "\r\n"),
      HasSubstr(" 413 "));
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n"), HasSubstr(" 431 "));
  EXPECT_EQ(requests.size(), 1U);
}

TEST_F(HttpFrontTest, InvitesTheBodyOfACarefulClient) {
  start();
  const std::string reply =
      raw("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: "
          "close\r\n\r\n{}");
  EXPECT_THAT(reply, testing::StartsWith("HTTP/1.1 100 Continue\r\n\r\n"));
  EXPECT_THAT(reply, HasSubstr("HTTP/1.1 200 OK"));
}

TEST_F(HttpFrontTest, GivesUpOnSlowClients) {
  start({.idle_timeout = 50ms, .header_timeout = 50ms, .reply_timeout = 50ms});
  EXPECT_EQ(raw(""), "") << "an idle connection is closed without a word";
  EXPECT_EQ(raw("GET / HT"), "") << "so is one whose header does not end";
  answer = nullptr;
  EXPECT_EQ(call({.target = "/api?token=s3cret"}).status, 504);
  EXPECT_THAT(log, HasSubstr("no answer to GET /api\n"));
  EXPECT_THAT(log, Not(HasSubstr("s3cret")));
}

TEST_F(HttpFrontTest, LetsOnlyListedOriginsIn) {
  start({.allowed_origins = {"https://lab.example"}});
  EXPECT_EQ(call({.target = "/", .headers = {{"Origin", "http://evil.example"}}}).status, 403);
  EXPECT_TRUE(requests.empty());
  EXPECT_EQ(call({.target = "/", .headers = {{"Origin", "http://" + endpoint.authority()}}}).status, 200);
  const HttpAnswer listed = call({.target = "/", .headers = {{"Origin", "https://lab.example"}}});
  EXPECT_EQ(listed.status, 200);
  EXPECT_EQ(listed.headers.at("access-control-allow-origin"), "https://lab.example");
  const HttpAnswer preflight =
      call({.method = "OPTIONS",
            .target = "/api/kernels",
            .headers = {{"Origin", "https://lab.example"}, {"Access-Control-Request-Method", "POST"}}});
  EXPECT_EQ(preflight.status, 204);
  EXPECT_THAT(preflight.headers.at("access-control-allow-headers"), HasSubstr("authorization"));
  EXPECT_EQ(requests.size(), 2U);
}

TEST_F(HttpFrontTest, SaysWhyItCannotListen) {
  start();
  const auto second = HttpFront::listen(loop.io, {.port = front_->port()}, [](auto) {}, [](const auto&) {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(front_->port())));
  EXPECT_FALSE(HttpFront::listen(loop.io, {.address = "nowhere"}, [](auto) {}, [](const auto&) {}));
}

// ---- WebSocket

TEST_F(HttpFrontTest, CarriesMessagesInBothSubProtocols) {
  start();
  for (const SubProtocol protocol : {SubProtocol::kLegacy, SubProtocol::kV1}) {
    MessageSocket socket = open(protocol);
    EXPECT_EQ(socket.protocol(), protocol);
    for (const Message& sent :
         {message("{}"), message(R"({"a":"é"})", {Blob(std::string("\xFF\0", 2)), Blob("b")})}) {
      socket.send(sent);
      const auto back = next(socket);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, sent);
      EXPECT_EQ(received.back(), sent);
    }
    socket.close(1000, "done");
    ASSERT_TRUE(loop.until([&] { return closings.size() == openings.size(); }));
  }
  EXPECT_EQ(openings[0].target, "/api/kernels/k/channels");
  EXPECT_EQ(openings[0].headers.at("authorization"), "token s3cret");
  EXPECT_FALSE(openings[0].headers.contains("sec-websocket-protocol"));
  EXPECT_EQ(openings[1].headers.at("sec-websocket-protocol"), "v1.kernel.websocket.jupyter.org");
}

TEST_F(HttpFrontTest, NamesNoSubProtocolToALegacyClient) {
  start({.socket = {.close_timeout = 50ms}});
  opened = [this](ConnectionId id) {
    front_->accept(id);
    front_->close({id, 1011, ""});
  };
  const std::string upgrade =
      "GET /c HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
      "13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  EXPECT_THAT(raw(upgrade + "\r\n"),
              testing::AllOf(HasSubstr(" 101 "), Not(HasSubstr("Sec-WebSocket-Protocol"))));
  EXPECT_THAT(raw(upgrade + "Sec-WebSocket-Protocol: a, v1.kernel.websocket.jupyter.org\r\n\r\n"),
              HasSubstr("Sec-WebSocket-Protocol: v1.kernel.websocket.jupyter.org\r\n"));
}

TEST_F(HttpFrontTest, SendsWhatTheNodeSentWithTheHandshake) {
  start();
  opened = [this](ConnectionId id) {
    front_->accept(id);
    front_->send(id, message("{\"first\":1}"));
    front_->send(id, message("{\"second\":2}"));
    front_->close({id, 1011, "enough"});
  };
  MessageSocket socket = open(SubProtocol::kV1);
  EXPECT_EQ(next(socket)->content.view(), "{\"first\":1}");
  EXPECT_EQ(next(socket)->content.view(), "{\"second\":2}");
  EXPECT_EQ(close_code(socket), 1011);
  ASSERT_TRUE(loop.until([&] { return closings.size() == 1; }));
}

TEST_F(HttpFrontTest, RefusesAHandshakeWithAStatusAndJson) {
  start();
  opened = [this](ConnectionId id) { front_->reject({id, 404, "no kernel k"}); };
  const auto socket =
      loop.await(MessageSocket::connect(endpoint, "/api/kernels/k/channels", SubProtocol::kLegacy));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().kind, ErrorKind::kNotFound);
  const HttpAnswer answer_seen = call({.target = "/c",
                                       .headers = {{"Connection", "Upgrade"},
                                                   {"Upgrade", "websocket"},
                                                   {"Sec-WebSocket-Version", "13"},
                                                   {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}}});
  EXPECT_EQ(answer_seen.status, 404);
  EXPECT_EQ(answer_seen.body, R"({"message":"no kernel k","reason":"Not Found"})");
  EXPECT_TRUE(closings.empty()) << "a rejected client needs no further event";
}

TEST_F(HttpFrontTest, RefusesWebSocketsOfOtherPages) {
  start();
  const std::string reply =
      raw("GET /c HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
          "13\r\n"
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://evil.example\r\n\r\n");
  EXPECT_THAT(reply, HasSubstr(" 403 "));
  EXPECT_TRUE(openings.empty());
}

TEST_F(HttpFrontTest, ClosesOnMalformedFramesAndLosesNothingElse) {
  start();
  MessageSocket neighbour = open(SubProtocol::kLegacy);
  const auto closes = [&](SubProtocol protocol, FrameKind kind, const std::string& bytes) {
    MessageSocket socket = open(protocol);
    socket.send(message("{\"before\":1}"));
    socket.send_frame({kind, {Blob(bytes)}});
    EXPECT_TRUE(next(socket)) << "the message before is delivered and answered";
    return close_code(socket);
  };
  EXPECT_EQ(closes(SubProtocol::kLegacy, FrameKind::kBinary, std::string("\0\0\0\2\0\0\0\x0C", 8)), 1002)
      << "truncated";
  EXPECT_EQ(closes(SubProtocol::kV1, FrameKind::kBinary, "short"), 1002);
  EXPECT_EQ(closes(SubProtocol::kV1, FrameKind::kText, "{}"), 1003);
  EXPECT_EQ(closes(SubProtocol::kLegacy, FrameKind::kText, "{\"header\":"), 1007);
  EXPECT_EQ(closes(SubProtocol::kLegacy, FrameKind::kText, "\xFF\xFE"), 1007) << "no UTF-8";
  neighbour.send(message("{\"still\":1}"));
  EXPECT_TRUE(next(neighbour));
  EXPECT_EQ(closings.size(), 5U);
}

TEST_F(HttpFrontTest, AClientSkipsWhatAKernelWroteWrongly) {
  start();
  opened = [this](ConnectionId id) {
    front_->accept(id);
    front_->send(id, message("no JSON"));
    front_->send(id, message("{\"fine\":1}"));
  };
  MessageSocket socket = open(SubProtocol::kV1);
  EXPECT_EQ(next(socket).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(next(socket)->content.view(), "{\"fine\":1}");
}

TEST_F(HttpFrontTest, ClosesOnAMessageThatIsTooLarge) {
  start({.socket = {.message_bytes_max = 100'000}});
  MessageSocket socket = open(SubProtocol::kLegacy);
  socket.send(text(90'000));
  EXPECT_TRUE(next(socket));
  socket.send(text(5 << 20));
  EXPECT_EQ(close_code(socket), 1009);
  EXPECT_EQ(received.size(), 1U);
}

TEST_F(HttpFrontTest, TellsTheNodeWhenAClientBreaksOff) {
  start();
  {
    MessageSocket socket = open(SubProtocol::kV1);
    socket.send(message("{}"));
    ASSERT_TRUE(next(socket));
  }
  ASSERT_TRUE(loop.until([&] { return closings.size() == 1; }));
  EXPECT_EQ(closings[0], openings[0].id);
  front_->send(closings[0], message("{}"));
  front_->close({closings[0], 1011, ""});
  loop.until([] { return false; }, 50ms);
  EXPECT_EQ(closings.size(), 1U) << "calls for a client that is gone have no effect";
}

TEST_F(HttpFrontTest, PingsASilentPeerAndGivesItUp) {
  start({.socket = {.silence_timeout = 200ms}});
  opened = [this](ConnectionId id) { front_->accept(id); };
  const std::string heard =
      raw("GET /c HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
          "13\r\n"
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  EXPECT_THAT(heard, HasSubstr(std::string("\r\n\r\n\x89\0", 6))) << "a ping after the handshake";
  EXPECT_EQ(closings.size(), 1U);
}

TEST_F(HttpFrontTest, Carries24MegabytesInOrderWithinAWindow) {
  start();
  constexpr std::size_t kMessages = 10'000;
  constexpr std::size_t kWindow = 4 << 20;
  std::size_t sent = 0;
  std::uint64_t bytes_sent = 0;
  ConnectionId client;
  opened = [&](ConnectionId id) { front_->accept(client = id); };
  MessageSocket socket = open(SubProtocol::kV1);
  const auto fill = [&] {
    while (sent < kMessages && bytes_sent - drained[client] < kWindow) {
      Message output =
          message("{\"n\":" + std::to_string(sent++) + ",\"text\":\"" + std::string(2400, 'x') + "\"}");
      bytes_sent += output.size();
      front_->send(client, std::move(output));
    }
  };
  for (std::size_t n = 0; n < kMessages; ++n) {
    fill();
    const auto output = next(socket);
    ASSERT_TRUE(output) << output.error().message;
    ASSERT_TRUE(output->content.view().starts_with("{\"n\":" + std::to_string(n) + ",")) << n;
  }
  EXPECT_TRUE(loop.until([&] { return drained[client] == bytes_sent; }));
  EXPECT_GT(bytes_sent, 24'000'000U);
}

TEST_F(HttpFrontTest, CarriesOneMessageOf16Megabytes) {
  start();
  for (const SubProtocol protocol : {SubProtocol::kLegacy, SubProtocol::kV1}) {
    MessageSocket socket = open(protocol);
    const Message large =
        message("{\"text\":\"" + std::string(8 << 20, 'x') + "\"}", {Blob(std::string(8 << 20, 'b'))});
    socket.send(large);
    const auto back = next(socket);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, large);
  }
}

TEST_F(HttpFrontTest, APingIsAnsweredWhenWhatWasSentBeforeItHasBeenRead) {
  start();
  ConnectionId client;
  opened = [&](ConnectionId id) { front_->accept(client = id); };
  MessageSocket socket = open(SubProtocol::kV1);
  for (int i = 0; i < 3; ++i) front_->send(client, text(1000));
  front_->ping({client, 3});
  front_->send(client, text(1000));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(next(socket));
  EXPECT_TRUE(loop.until([&] { return drained[client] == 4 * text(1000).size(); }));
  EXPECT_THAT(confirmed, testing::IsEmpty()) << "all has left, and the client has not read so far";
  ASSERT_TRUE(next(socket));
  EXPECT_TRUE(loop.until([&] { return !confirmed.empty(); }));
  EXPECT_THAT(confirmed, testing::ElementsAre(3));
}

TEST_F(HttpFrontTest, AClientConfirmsUnaskedWithAPingThatSaysSo) {
  start();
  MessageSocket socket = open(SubProtocol::kV1);
  for (const char* payload : {"", "12", "confirmed", "confirmed ", "confirmed 1x", "confirmed -1",
                              "confirmed 99999999999999999999", "confirmed 7"})
    socket.ping(payload);
  socket.send(text(10));
  ASSERT_TRUE(next(socket)) << "the connection stays";
  EXPECT_THAT(confirmed, testing::ElementsAre(7));
}

TEST_F(HttpFrontTest, ASlowReaderDoesNotSlowOthers) {
  start();
  echo = false;
  std::vector<ConnectionId> ids;
  opened = [&](ConnectionId id) {
    front_->accept(id);
    ids.push_back(id);
  };
  MessageSocket slow = open(SubProtocol::kV1);
  MessageSocket quick = open(SubProtocol::kV1);
  for (int i = 0; i < 64; ++i) front_->send(ids[0], text(1 << 20));
  for (int i = 0; i < 100; ++i) {
    front_->send(ids[1], message("{\"i\":" + std::to_string(i) + "}"));
    ASSERT_TRUE(next(quick, 2s));
  }
  EXPECT_LT(drained[ids[0]], std::uint64_t{64} << 20) << "the slow one is still behind";
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(next(slow)) << "and loses nothing";
}

TEST_F(HttpFrontTest, DropsAClientWhoseQueueGrowsBeyondItsBound) {
  start({.socket = {.queue_bytes_max = 8 << 20, .close_timeout = 100ms}});
  echo = false;
  ConnectionId client;
  opened = [&](ConnectionId id) { front_->accept(client = id); };
  MessageSocket stuck = open(SubProtocol::kV1);
  for (int i = 0; i < 64; ++i) front_->send(client, text(1 << 20));
  EXPECT_TRUE(loop.until([&] { return closings.size() == 1; }, 5s));
}

TEST_F(HttpFrontTest, ClosesItsClientsSoThatTheyComeBack) {
  start();
  MessageSocket socket = open(SubProtocol::kLegacy);
  front_->stop();
  EXPECT_EQ(close_code(socket), 1011);
  EXPECT_TRUE(closings.empty()) << "no event after stop()";
}

TEST_F(HttpFrontTest, AnswersInWellUnderAMillisecond) {
  start();
  MessageSocket socket = open(SubProtocol::kV1);
  std::vector<double> us;
  for (int i = 0; i < 2000; ++i) {
    const auto from = std::chrono::steady_clock::now();
    socket.send(message("{}"));
    ASSERT_TRUE(next(socket));
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count());
  }
  std::ranges::sort(us);
  RecordProperty("round_trip_p50_us", std::to_string(us[1000]));
  RecordProperty("round_trip_p99_us", std::to_string(us[1980]));
  EXPECT_LT(us[1000], 5000);
}

}  // namespace
}  // namespace banyan::runtime
