// Opens a data store by its URL.
#pragma once

#include <memory>
#include <string>

#include "runtime/data_store/blocking_store.h"
#include "runtime/data_store/options.h"
#include "runtime/loop/loop.h"

namespace banyan::runtime {

/// Most calls of a store that may wait for their turn; one more is kUnavailable at once.
inline constexpr std::size_t kWaitingMax = 1024;

/// The store of `file:///directory`, `redis://[user][:password]@host[:port][/database]` or
/// `s3://bucket[/prefix][?endpoint=…&region=…&addressing=path|virtual]`; docs/guide/data-stores.md. A store
/// that is down opens, and its calls fail. kInvalid for another scheme or a URL that is not complete, kDenied
/// without credentials, kIo.
///
/// For a command: blocks the caller in each call. SIGPIPE is kept from the program.
Result<std::unique_ptr<BlockingStore>> blocking_store_at(const std::string& url, StoreOptions options = {});

/// For a daemon: works on threads of its own, so a store that hangs holds up nothing but its callers'
/// callbacks. They run on `loop`, which outlives the store; so does the observer, which may hear of a
/// transfer that ended just before the store was destroyed. Destroying the store ends what is under way,
/// without callbacks; it waits for a connection that is being made, RequestLimits::connect at most.
Result<std::unique_ptr<port::DataStore>> data_store_at(Loop& loop, const std::string& url,
                                                       StoreOptions options = {});

}  // namespace banyan::runtime
