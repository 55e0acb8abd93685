#include "sim/notebook.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/json_field.h"

namespace banyan::sim {

namespace {
constexpr Duration kSendAgain =
    2s;                            // so long after it has reconnected a client asks again for what it misses
constexpr Duration kJustNow = 2s;  // what a client got within this time a dying gateway may not have noted
constexpr Duration kLookAfter = 500ms;  // how often a client looks for cells without an answer

/// No other such request is made meanwhile.
bool is_asking(Asked asked) { return asked == Asked::kRestart || asked == Asked::kEnd; }
/// What came just before the connection ended the gateway cannot have noted: it asks again on the next one.
void note_end_of_link(std::map<ExecutionId, CellRecord>& cells, std::optional<TrueTime> since,
                      const Front& front) {
  const bool asked_again = since && front.gateway_ran_since(*since) >= kJustNow;
  for (auto& [id, cell] : cells) {
    if (cell.replies == 0) cell.interrupted_link = true;
    if (asked_again) cell.unconfirmed = false;
    if (front.gateway_ran_since(cell.told) < kJustNow) cell.unconfirmed = true;
  }
}

}  // namespace

Notebook::Notebook(Scheduler& scheduler, Rng rng, Trace& trace, Front& front, const HostClock& clock,
                   ClientWitness& witness, TransferWitness& transfers, DataStore* store, std::string name,
                   NotebookPlan plan)
    : scheduler_(scheduler),
      rng_(rng),
      trace_(trace),
      front_(front),
      clock_(clock),
      witness_(witness),
      name_(std::move(name)),
      plan_(plan),
      client_id_(rng_.uuid()),
      porter_(scheduler, plan.carries > 0 ? rng_.fork() : Rng(0), front, transfers, store) {
  later(kLookAfter, &Notebook::look_after);
}

void Notebook::later(Duration delay, void (Notebook::*then)()) {
  scheduler_.after(delay, [this, then] { (this->*then)(); });
}

Duration Notebook::between(Duration low, Duration high) {
  return low + Duration(rng_.below(static_cast<std::uint64_t>((high - low).count()) + 1));
}

void Notebook::create() {
  const std::string id = wanted_ ? R"(,"KERNEL_ID":")" + wanted_->value + "\"" : "";
  front_.request(
      "POST", "/api/kernels", R"({"name":"python3","env":{"KERNEL_USERNAME":")" + name_ + "\"" + id + "}}",
      [this](int status, const std::string& body) {
        // There is one of that id: an earlier request made it, whose answer was lost.
        if (status == 409 && wanted_) {
          wanted_.reset();
          return create();
        }
        if (status != 201) {
          if (status != 0 && status < 500)
            witness_.client_complains("POST /api/kernels is answered " + std::to_string(status) + " " + body);
          return later(between(200ms, 1s), &Notebook::create);
        }
        wanted_.reset();
        // It is used when it has the state that is to be brought, and not before.
        const SessionId made{text_of(body, "id")};
        if (!porter_.bring_in(made, [this, made](Porter::End how) { brought(made, how); })) use(made);
      });
}

void Notebook::use(const SessionId& session) {
  session_ = session;
  connect();
}

void Notebook::connect() {
  if (socket_ || session_.value.empty()) return;  // without a kernel: create() is on its way and connects
  socket_ = front_.open(
      "/api/kernels/" + session_.value + "/channels?session_id=" + client_id_ + "&repeats=dropped", *this);
  // Only messages of earlier connections may come again. A repetition on one connection is a bug of the
  // gateway.
  had_.merge(std::exchange(arriving_, {}));
}

void Notebook::disconnect(Duration away) {
  if (!socket_) return;
  front_.close(*std::exchange(socket_, std::nullopt));
  note_end_of_link(cells_, std::exchange(connected_since_, std::nullopt), front_);
  later(away, &Notebook::connect);
}

void Notebook::opened(ConnectionId connection) {
  if (connection != socket_) return;
  connected_since_ = scheduler_.now();
  if (asked_ == Asked::kEndInVain) asked_ = Asked::kNothing;  // it is there
  if (rng_.chance(0.3)) front_.send(connection, request_message(rng_.uuid(), "kernel_info_request", "{}"));
  if (!std::exchange(stepping_, true)) later(between(1ms, 30ms), &Notebook::step);
}

void Notebook::closed(ConnectionId connection, int status) {
  if (connection != socket_) return;
  socket_.reset();
  note_end_of_link(cells_, std::exchange(connected_since_, std::nullopt), front_);
  // A kernel that is to end may be gone before the client is told, or while nobody tells it: it asks again.
  const bool may_be_gone = status == 404 && (asked_ == Asked::kEnd || asked_ == Asked::kEndInVain);
  if (may_be_gone && asked_ == Asked::kEndInVain) remove();
  if (!may_be_gone && (status == 404 || status == 403 || status == 401))
    witness_.client_complains(name_ + ": the WebSocket of kernel " + session_.value + " is refused with " +
                              std::to_string(status));
  later(between(100ms, 800ms), &Notebook::connect);
}

void Notebook::gateway_died() {
  const bool asked_again = connected() && front_.gateway_ran_since(*connected_since_) >= kJustNow;
  for (auto& [id, cell] : cells_) {
    // The gateway may not have noted what this client got just before, nor an end that it got only in part:
    // both may come once more.
    const bool just_now =
        front_.gateway_ran_since(cell.told) < kJustNow || (cell.unconfirmed && !asked_again);
    if (!cell.idle || just_now) cell.gateway_died = true;
  }
}

bool Notebook::finished() const { return sent_ >= plan_.cells && !outstanding(); }

void Notebook::step() {
  if (sent_ >= plan_.cells) return;
  if (!connected() || is_asking(asked_)) return later(between(20ms, 100ms), &Notebook::step);
  if (!settled_ && scheduler_.now() < resting_until_) {
    if (rng_.chance(0.02)) ask();
    return later(between(50ms, 200ms), &Notebook::step);
  }
  if (!settled_ && rng_.chance(plan_.trouble)) {
    switch (rng_.below(8)) {
      case 0:
      case 1:
        disconnect(between(0ms, rng_.chance(0.2) ? 3s : 300ms));
        break;
      case 2:
        interrupt();
        break;
      case 3:
        restart();
        break;
      case 4:
        front_.stall(*socket_, between(10ms, 500ms));
        break;
      case 5:
      case 6:
        move();
        break;
      default:
        if (rng_.chance(0.15)) remove();
        break;
    }
    if (rng_.chance(0.5)) return later(between(1ms, 50ms), &Notebook::step);
  }
  if (!settled_ && !is_asking(asked_) && plan_.carries > 0 && !porter_.busy() && rng_.chance(plan_.carries)) {
    if (porter_.holds() && rng_.chance(0.4)) {
      if (!outstanding()) porter_.intend_to_bring();
      remove();
    } else {
      take_out([](Porter::End) {});
    }
  }
  // A person mostly waits for an answer before the next cell; sometimes cells queue up.
  const std::size_t waiting = order_.size() - answered_;
  if (!is_asking(asked_) && connected() && (waiting == 0 || (waiting < 8 && rng_.chance(0.15)))) send_burst();
  later(between(1ms, rng_.chance(0.3) ? 600ms : 40ms), &Notebook::step);
}

void Notebook::send_burst() {
  std::uint64_t count = rng_.chance(0.7) ? 1 : 2 + rng_.below(5);
  for (; count > 0 && sent_ < plan_.cells; --count) send_cell(invent());
  if (!settled_ && rng_.chance(plan_.trouble / 2)) later(between(1ms, 80ms), &Notebook::interrupt);
}

std::vector<Statement> Notebook::invent() {
  using Op = Statement::Op;
  static const std::array<std::string, 7> kNames{"a", "b", "c", "d", "e", "f", "g"};
  const auto name = [&] { return kNames[rng_.below(kNames.size())]; };
  std::vector<Statement> statements;
  for (std::uint64_t left = 1 + rng_.below(5); left > 0; --left) {
    const std::uint64_t dice = rng_.below(1000);
    if (dice < 300) {
      statements.push_back({Op::kSet, name(), {}, rng_.below(1000)});
    } else if (dice < 320 && !porter_.lacks_values()) {
      statements.push_back({rng_.chance(0.6) ? Op::kUndo : Op::kRedo, {}, {}, 1 + rng_.below(2)});
    } else if (dice < 480) {
      statements.push_back({Op::kAdd, name(), {}, 1 + rng_.below(9)});
    } else if (dice < 560) {
      statements.push_back({Op::kAlias, name(), name(), 0});
    } else if (dice < 600) {
      statements.push_back({Op::kDel, name(), {}, 0});
    } else if (dice < 680) {
      statements.push_back({Op::kBig, name(), {}, 50 + rng_.below(2500)});
    } else if (dice < 860) {
      statements.push_back({Op::kPrint, {}, {}, 1 + rng_.below(rng_.chance(0.05) ? 60 : 5)});
    } else if (dice < 950) {
      statements.push_back(
          {Op::kSleep, {}, {}, 1 + rng_.below(plan_.long_cells && rng_.chance(0.15) ? 12'000 : 60)});
    } else if (dice < 960) {
      statements.push_back({Op::kStubborn, {}, {}, 1 + rng_.below(rng_.chance(0.1) ? 3000 : 100)});
    } else if (dice < 975) {
      statements.push_back({Op::kUnserial, name(), {}, 0});
    } else if (dice < 990) {
      statements.push_back({Op::kFail, {}, {}, 0});
    } else if (!settled_) {
      statements.push_back({Op::kCrash, {}, {}, 0});
    }
  }
  if (statements.empty()) statements.push_back({Op::kPrint, {}, {}, 1});
  return statements;
}

jupyter::Message Notebook::request_message(const std::string& id, std::string_view type,
                                           std::string content) const {
  const WallTime date = clock_.read(scheduler_.now()).wall;
  return jupyter::make_message(jupyter::Channel::kShell, type, "{}", std::move(content),
                               {client_id_, id, date});
}

void Notebook::send_cell(const std::vector<Statement>& statements) {
  const ExecutionId id{name_ + "-" + std::to_string(++sent_)};
  CellRecord cell;
  cell.execution = id;
  cell.session = session_;
  cell.code = code_of(statements);
  cell.sent = scheduler_.now();
  const char* stop = rng_.chance(0.5) ? "true" : "false";
  cell.request = request_message(
      id.value, "execute_request",
      R"({"code":")" + cell.code +
          R"(","silent":false,"store_history":true,"user_expressions":{},"allow_stdin":false,"stop_on_error":)" +
          stop + "}");
  if (plan_.devices > 0 && rng_.chance(0.3)) {
    const std::uint64_t gpus = rng_.below(plan_.devices + 1);
    cell.request.metadata = R"({"banyan":{"gpus":)" + std::to_string(gpus) + "}}";
    witness_.asks_for_gpus(id, gpus);
  }
  order_.push_back(id);
  transmit(cells_.emplace(id, std::move(cell)).first->second);
}

void Notebook::transmit(CellRecord& cell) {
  trace_.note("client", "cell", cells_.size(), [&] { return cell.execution.value + " [" + cell.code + "]"; });
  cell.sent_again = scheduler_.now();
  if (socket_ && connected()) {
    front_.send(*socket_, cell.request);
  } else {
    cell.interrupted_link = true;  // there is no connection that could carry it
  }
}

ExecutionId Notebook::last_cell() {
  send_cell({{Statement::Op::kSet, "z", {}, 1},
             {Statement::Op::kAdd, "z", {}, 1},
             {Statement::Op::kPrint, {}, {}, 2}});
  return order_.back();
}

/// A connection that broke may have swallowed a request: after a while the client sends it once more.
void Notebook::look_after() {
  later(kLookAfter, &Notebook::look_after);
  if (!connected() || scheduler_.now() - *connected_since_ < kSendAgain) return;
  if (!plan_.sends_again && !settled_) return;
  for (const ExecutionId& id : order_) {
    CellRecord& cell = cells_.at(id);
    if (cell.replies > 0 || !cell.interrupted_link || cell.session != session_) continue;
    if (scheduler_.now() - cell.sent_again < 2 * kSendAgain) continue;
    ++cell.repeats_sent;
    transmit(cell);
  }
}

void Notebook::received(ConnectionId connection, const jupyter::Message& message) {
  if (connection != socket_) return;
  std::string message_id = text_of(message.header, "msg_id");
  const auto found = cells_.find({text_of(message.parent_header, "msg_id")});
  if (had_.contains(message_id)) {
    if (found != cells_.end() && found->second.replies > 0) found->second.told = scheduler_.now();
    return;
  }
  arriving_.insert(std::move(message_id));
  if (found == cells_.end()) return;
  CellRecord& cell = found->second;
  cell.acknowledged = true;
  const std::string type = text_of(message.header, "msg_type");
  if (message.channel == jupyter::Channel::kIopub) {
    if (type != "status") {
      cell.outputs.push_back(text_of(message.header, "msg_id"));
      cell.told_missing |= porter_.lacks_values() &&
                           message.content.view().find("could not be restored") != std::string_view::npos;
      if (text_of(message.content.view(), "name") == "stderr")
        cell.notes += text_of(message.content.view(), "text");
    } else if (text_of(message.content.view(), "execution_state") == "idle") {
      cell.idle = true;
    }
    return;
  }
  if (message.channel != jupyter::Channel::kShell || type != "execute_reply") return;
  if (++cell.replies == 1) ++answered_;
  cell.reply = std::string(message.content.view());
  cell.status = text_of(cell.reply, "status");
  cell.told = scheduler_.now();
  witness_.replied(cell);
}

void Notebook::interrupt() {
  if (session_.value.empty() || is_asking(asked_)) return;
  front_.request("POST", "/api/kernels/" + session_.value + "/interrupt", "", [](int, const std::string&) {});
}

void Notebook::restart() {
  asked_ = Asked::kRestart;
  front_.request(
      "POST", "/api/kernels/" + session_.value + "/restart", "{}",
      [this](int status, const std::string& body) {
        asked_ = Asked::kNothing;
        if (status != 200 && status != 0 && status < 500)
          witness_.client_complains("a restart is answered " + std::to_string(status) + " " + body);
      });
}

/// Suspends the session, resumes it, or has it moved to some host, which may be down. Cells go on meanwhile.
void Notebook::move() {
  std::string what = "migrate", body = R"({"host":"h)" + std::to_string(1 + rng_.below(plan_.hosts)) + "\"}";
  if (rng_.chance(0.4)) {
    what = rng_.chance(0.6) ? "suspend" : "resume";
    body = rng_.chance(0.5) ? R"({"force":true})" : "{}";
  }
  ++moves_;
  front_.request(
      "POST", "/api/banyan/sessions/" + session_.value + "/" + what, body,
      [this, what](int status, const std::string& answer) {
        --moves_;
        // A person who suspends a session mostly leaves it alone for a while.
        if (what == "suspend" && status == 200 && rng_.chance(0.7))
          resting_until_ = scheduler_.now() + between(100ms, 4s);
        const bool expected = status == 200 || status == 0 || status == 404 || status == 409 || status >= 500;
        if (!expected)
          witness_.client_complains("a " + what + " is answered " + std::to_string(status) + " " + answer);
      });
}

/// Asks for the session's history, which does not wake a suspended session.
void Notebook::ask() {
  front_.request(
      "POST", "/api/banyan/sessions/" + session_.value + "/history", R"({"do":"log"})",
      [this](int status, const std::string& answer) {
        const bool expected = status == 200 || status == 0 || status == 404 || status >= 500;
        if (!expected)
          witness_.client_complains("a question is answered " + std::to_string(status) + " " + answer);
      });
}

/// Deletes the kernel and goes on with a new one, at times under the same id: the hosts have not all heard
/// then that the old one has ended.
void Notebook::remove() {
  if (outstanding()) return;
  asked_ = Asked::kEnd;
  front_.request("DELETE", "/api/kernels/" + session_.value, "", [this](int status, const std::string& body) {
    asked_ = status == 0 || status >= 500 ? Asked::kEndInVain : Asked::kNothing;
    if (asked_ == Asked::kEndInVain) return;
    if (status != 204 && status != 404)
      return witness_.client_complains("a DELETE is answered " + std::to_string(status) + " " + body);
    for (const ExecutionId& id : order_) cells_.at(id).deleted = true;
    if (rng_.chance(0.5)) wanted_ = session_;
    let_go();
    create();
  });
}

void Notebook::let_go() {
  if (socket_) front_.close(*std::exchange(socket_, std::nullopt));
  connected_since_.reset();
  session_ = {};
}

void Notebook::take_out(const Porter::Then& then) {
  const auto newest = std::find_if(order_.rbegin(), order_.rend(), [this](const ExecutionId& id) {
    const CellRecord& cell = cells_.at(id);
    return cell.session == session_ && !cell.deleted && cell.status == "ok";
  });
  porter_.take_out(session_, newest == order_.rend() ? std::nullopt : std::optional(*newest), then);
}

/// After an import of which the client does not know whether it was done it uses the session as it is.
void Notebook::brought(const SessionId& into, Porter::End how) {
  if (how != Porter::End::kFailed) return use(into);
  if (rng_.chance(0.7)) porter_.intend_to_bring();
  create();
}

void Notebook::carry_over() {
  porter_.expect_success();
  take_out([this](Porter::End how) {
    if (how != Porter::End::kDone) return;
    porter_.intend_to_bring();
    let_go();
    create();
  });
}

std::string Notebook::state() const {
  std::string text =
      name_ + " kernel " + session_.value + (connected() ? " connected" : " not connected") + ", unanswered:";
  for (const ExecutionId& id : order_) {
    const CellRecord& cell = cells_.at(id);
    if (cell.replies == 0) text += " " + id.value + " [" + cell.code + "]";
  }
  return text;
}

}  // namespace banyan::sim
