// Jupyter messages that the daemons read or make themselves. Source: Jupyter messaging protocol 5.4.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/jupyter/message.h"

namespace banyan::node {

/// The text of a JSON value. Texts of people may hold broken UTF-8, which is replaced: a message must not
/// have it.
std::string dump(const nlohmann::json& value);

/// True for iopub's `status`.
bool is_status(const jupyter::Message& message);
/// True for a `status` with execution_state "idle".
bool is_idle(const jupyter::Message& message);
/// A text member of a JSON object; empty when it is absent or no string.
std::string text_member(std::string_view object, std::string_view name);
/// The same, but empty also where the object as a whole is no valid JSON, such as with broken UTF-8: nothing
/// of that may go into the log.
std::string text_field(std::string_view object, const char* name);
/// True when the member is the JSON literal `true` (or `false`, as `expected` says).
bool is_literal(std::string_view object, std::string_view name, std::string_view expected);

/// iopub `status`.
jupyter::Message status_message(std::string_view state, std::string_view parent,
                                const jupyter::Author& author);
/// iopub `stream` on stderr: the gateway speaks to a person.
jupyter::Message note(const std::string& text, std::string_view parent, const jupyter::Author& author);
/// The mark in a cell of which a client may lack outputs, because its connection broke.
jupyter::Message doubt_mark(std::uint64_t messages, std::uint64_t bytes, std::string_view parent,
                            const jupyter::Author& author);
/// The mark where a client's output was cut.
jupyter::Message cut_mark(std::uint64_t messages, std::uint64_t bytes, std::string_view parent,
                          const jupyter::Author& author);
/// iopub `error`.
jupyter::Message error_output(std::string_view name, std::string_view text, std::string_view parent,
                              const jupyter::Author& author);

/// Content of a reply with status "error".
std::string error_content(std::string_view name, std::string_view text, std::uint64_t execution_count = 0);
/// Content of the execute_reply of a cell that an earlier cell's error aborted, as ipykernel words it.
std::string aborted_content();
/// The type of the reply to a request, "x_reply" for "x_request"; empty when there is none.
std::string reply_type(std::string_view request_type);

}  // namespace banyan::node
