// Opens a data store by its URL.
#pragma once

#include <memory>
#include <string>

#include "runtime/data_store/blocking_store.h"
#include "runtime/data_store/options.h"
#include "runtime/loop/loop.h"

namespace banyan::runtime {

/// How many calls of a store may wait for their turn. One call more is kUnavailable at once.
inline constexpr std::size_t kWaitingMax = 1024;

/// The store of `file:///directory`, `redis://[user][:password]@host[:port][/database]` or
/// `s3://bucket[/prefix][?endpoint=…&region=…&addressing=path|virtual]`; docs/guide/data-stores.md. A store
/// that is down opens all the same, and its calls fail. kInvalid for another scheme or an incomplete URL,
/// kDenied without credentials, kIo.
///
/// This one is for a command: each call blocks. SIGPIPE is kept from the program.
Result<std::unique_ptr<BlockingStore>> blocking_store_at(const std::string& url, StoreOptions options = {});

/// Opens a store for a daemon. It works on threads of its own, so a store that hangs delays nothing but the
/// callbacks of its callers. They run on `loop`, which must outlive the store; so must the observer, which
/// may hear of a transfer that ended just before the store was destroyed. Destroying the store ends what is
/// under way without callbacks; it waits for a connection that is being made, at most for
/// RequestLimits::connect.
Result<std::unique_ptr<port::DataStore>> data_store_at(Loop& loop, const std::string& url,
                                                       StoreOptions options = {});

}  // namespace banyan::runtime
