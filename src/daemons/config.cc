#include "daemons/config.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "core/planner/choice.h"
#include "core/schedule/policy.h"
#include "core/schedule/session_policy.h"
#include "core/schedule/subscription.h"
#include "runtime/net/identity.h"

namespace banyan::daemons {

namespace {

/// Levenshtein's distance: how many letters must be inserted, deleted or replaced to make one word of the
/// other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// Reads one table of a file. It keeps the first thing that is wrong; finish() also finds keys that nobody
/// asked for.
class Reader {
 public:
  Reader(std::string file, const toml::table& table) : file_(std::move(file)), table_(table) {}

  void text(const char* key, std::string& target) {
    if (const auto* node = find(key)) {
      if (const auto value = node->value_exact<std::string>()) {
        target = *value;
      } else {
        complain(*node, key, "a text in quotes");
      }
    }
  }
  void choice(const char* key, std::string& target, const std::set<std::string>& allowed) {
    const auto* node = find(key);
    text(key, target);
    if (node == nullptr || error_ || allowed.contains(target)) return;
    std::string list;
    for (const auto& one : allowed) list += (list.empty() ? "" : ", ") + one;
    complain(*node, key, "one of " + list);
  }
  /// Reads a key whose values are names: `find` looks a name up, and its error says which names there are.
  template <class Find>
  void named(const char* key, std::string& target, Find find_value) {
    const auto* node = find(key);
    text(key, target);
    if (node == nullptr || error_) return;
    if (const auto found = find_value(target); !found)
      error_ = {ErrorKind::kInvalid, where(*node) + ": key '" + key + "': " + found.error().message};
  }
  /// Reads a key that may be missing or empty.
  void public_key(const char* key, std::string& target) {
    const auto* node = find(key);
    text(key, target);
    if (node != nullptr && !target.empty() && !runtime::is_key(target))
      complain(*node, key,
               "64 hex digits in lower case, as the log of the daemon that has it says at its start");
  }
  template <class Number>
  void number(const char* key, Number& target, std::int64_t least, std::int64_t most) {
    const auto* node = find(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<std::int64_t>();
    if (value && *value >= least && *value <= most) {
      target = static_cast<Number>(*value);
    } else {
      complain(*node, key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
  }
  void real(const char* key, double& target) {
    const auto* node = find(key);
    if (node == nullptr) return;
    const auto value = node->value<double>();
    if (value && *value >= 0) {
      target = *value;
    } else {
      complain(*node, key, "a number that is not negative");
    }
  }
  /// Reads a list of texts. Returns whether the key is there.
  bool texts(const char* key, std::vector<std::string>& target) {
    const auto* node = find(key);
    if (node == nullptr) return false;
    const auto* array = node->as_array();
    target.clear();
    if (array != nullptr) {
      for (const auto& item : *array) {
        if (const auto value = item.value_exact<std::string>()) target.push_back(*value);
      }
    }
    if (array == nullptr || target.size() != array->size()) complain(*node, key, "a list of texts");
    return true;
  }
  void addresses(const char* key, std::map<HostId, std::string>& target) {
    const auto* node = find(key);
    if (node == nullptr) return;
    const auto* table = node->as_table();
    if (table == nullptr) return complain(*node, key, "a table from host to address");
    for (const auto& [name, address] : *table) {
      if (const auto value = address.value_exact<std::string>()) {
        target[{std::string(name.str())}] = *value;
      } else {
        complain(address, std::string(key) + "." + std::string(name.str()), "an address in quotes");
      }
    }
  }
  /// Calls `read` with a reader for each table of an array.
  template <class Read>
  void tables(const char* key, Read read) {
    const auto* node = find(key);
    if (node == nullptr) return;
    const auto* array = node->as_array();
    if (array == nullptr)
      return complain(*node, key, "a list of tables, written [[" + std::string(key) + "]]");
    for (const auto& item : *array) {
      const auto* table = item.as_table();
      if (table == nullptr) return complain(item, key, "a table");
      Reader inner(file_, *table);
      read(inner);
      if (const auto result = inner.finish(); !result && !error_) error_ = result.error();
    }
  }
  /// Refuses two tables of what tables() has read that have the same name.
  template <class Named>
  void different(const char* key, const std::vector<Named>& items) {
    std::set<std::string> names;
    for (const auto& item : items) {
      if (!names.insert(item.name).second)
        refuse("two tables [[" + std::string(key) + "]] have the name '" + item.name +
               "'; rename or delete one");
    }
  }
  void require(const char* key, const std::string& value) {
    if (value.empty()) refuse("the key '" + std::string(key) + "' is missing or empty; set it");
  }

  void refuse(const std::string& why) {
    if (!error_) error_ = {ErrorKind::kInvalid, file_ + ": " + why};
  }

  Result<Done> finish() {
    if (error_) return tl::unexpected(*error_);
    for (const auto& [name, node] : table_) {
      const std::string key(name.str());
      if (known_.contains(key)) continue;
      const auto nearest = std::min_element(known_.begin(), known_.end(), [&](const auto& a, const auto& b) {
        return distance(a, key) < distance(b, key);
      });
      std::string hint =
          nearest != known_.end() && distance(*nearest, key) <= 3 ? "; did you mean '" + *nearest + "'?" : "";
      return fail(ErrorKind::kInvalid, where(node) + ": unknown key '" + key + "'" + hint);
    }
    return Done{};
  }

 private:
  const toml::node* find(const char* key) {
    known_.insert(key);
    return table_.get(key);
  }
  [[nodiscard]] std::string where(const toml::node& node) const {
    return file_ + ":" + std::to_string(node.source().begin.line);
  }
  void complain(const toml::node& node, const std::string& key, const std::string& expected) {
    if (!error_) error_ = {ErrorKind::kInvalid, where(node) + ": key '" + key + "' is to be " + expected};
  }

  std::string file_;
  const toml::table& table_;
  std::set<std::string> known_;
  std::optional<Error> error_;
};

Result<toml::table> parse(const std::string& path) {
  toml::parse_result parsed = toml::parse_file(path);
  if (parsed) return std::move(parsed).table();
  const auto& error = parsed.error();
  const auto line = error.source().begin.line;
  return fail(ErrorKind::kInvalid,
              path + (line > 0 ? ":" + std::to_string(line) : "") + ": " + std::string(error.description()));
}

toml::array array_of(const std::vector<std::string>& texts) {
  toml::array array;
  for (const auto& text : texts) array.push_back(text);
  return array;
}

toml::table table_of(const std::map<HostId, std::string>& addresses) {
  toml::table table;
  for (const auto& [host, address] : addresses) table.insert(host.value, address);
  return table;
}

std::string written(const toml::table& table) {
  std::ostringstream out;
  out << table << "\n";
  return out.str();
}

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kHoursMax = 1'000'000;  // in nanoseconds they fit into a Duration

}  // namespace

Result<GatewaySettings> load_gateway_settings(const std::string& path) {
  const auto table = parse(path);
  if (!table) return tl::unexpected(table.error());
  GatewaySettings settings;
  Reader reader(path, *table);
  reader.text("http_address", settings.http_address);
  reader.number("http_port", settings.http_port, 0, 65535);
  reader.text("token", settings.token);
  reader.texts("allowed_origins", settings.allowed_origins);
  reader.text("peer_listen", settings.peer_listen);
  reader.addresses("hosts", settings.hosts);
  reader.text("cluster_secret", settings.cluster_secret);
  reader.text("store_path", settings.store_path);
  reader.number("replicas", settings.replicas, 1, 9);
  reader.named("placement", settings.placement, schedule::placement_named);
  reader.named("executor_choice", settings.executor_choice, schedule::executor_choice_named);
  reader.choice("election", settings.election, {"all", "preselect"});
  reader.choice("standbys", settings.standbys, {"hot", "warm"});
  reader.choice("durability", settings.durability, {"async", "sync"});
  reader.number("suspend_after_s", settings.suspend_after_s, 0, std::uint64_t{10} * 365 * 24 * 3600);
  reader.named("session_policy", settings.session_policy, schedule::SessionPolicy::parse);
  reader.named("subscription_limit", settings.subscription_limit, schedule::SubscriptionLimit::parse);
  reader.number("gpus_per_user", settings.gpus_per_user, 0, kAny);
  reader.number("gpu_hours_per_user", settings.gpu_hours_per_user, 0, kHoursMax);
  reader.number("keep_commits", settings.keep_commits, 1, kAny);
  reader.number("keep_bytes", settings.keep_bytes, 1, kAny);
  reader.tables("kernels", [&](Reader& inner) {
    KernelSettings kernel;
    inner.text("name", kernel.name);
    inner.text("display_name", kernel.display_name);
    inner.text("language", kernel.language);
    inner.text("logo_directory", kernel.logo_directory);
    inner.text("python", kernel.python);
    inner.number("gpus", kernel.gpus, 0, 64);
    inner.choice("durability", kernel.durability, {"async", "sync"});
    inner.named("policy", kernel.policy, schedule::SessionPolicy::parse);
    inner.require("name", kernel.name);
    settings.kernels.push_back(std::move(kernel));
  });
  reader.different("kernels", settings.kernels);
  reader.require("token", settings.token);
  reader.require("peer_listen", settings.peer_listen);
  reader.require("cluster_secret", settings.cluster_secret);
  reader.require("store_path", settings.store_path);
  if (auto result = reader.finish(); !result) return tl::unexpected(result.error());
  if (settings.kernels.empty()) settings.kernels.push_back({"python3", "Python 3 (Banyan)"});
  return settings;
}

Result<HostSettings> load_host_settings(const std::string& path) {
  const auto table = parse(path);
  if (!table) return tl::unexpected(table.error());
  HostSettings settings;
  Reader reader(path, *table);
  reader.text("id", settings.id.value);
  reader.text("peer_listen", settings.peer_listen);
  reader.text("advertise", settings.advertise);
  reader.addresses("peers", settings.peers);
  reader.text("cluster_secret", settings.cluster_secret);
  reader.public_key("gateway_key", settings.gateway_key);
  reader.text("data_directory", settings.data_directory);
  reader.text("runtime_directory", settings.runtime_directory);
  reader.text("working_directory", settings.working_directory);
  reader.tables("kernels", [&](Reader& inner) {
    HostKernelSettings kernel;
    std::vector<std::string> preload;
    inner.text("name", kernel.name);
    inner.text("python", kernel.python);
    inner.text("python_path", kernel.python_path);
    if (inner.texts("preload", preload)) kernel.preload = std::move(preload);
    inner.require("name", kernel.name);
    if (kernel.python.empty() && !kernel.python_path.empty())
      inner.refuse("the kernel '" + kernel.name +
                   "' has a 'python_path' without a 'python'; give it one, or set the host's 'python_path'");
    settings.kernels.push_back(std::move(kernel));
  });
  reader.different("kernels", settings.kernels);
  reader.text("python", settings.python);
  reader.text("python_path", settings.python_path);
  reader.texts("preload", settings.preload);
  reader.texts("import_ahead", settings.import_ahead);
  reader.number("import_ahead_bytes", settings.import_ahead_bytes, 0, kAny);
  reader.named("plan", settings.plan, planner::strategy_named);
  reader.text("store", settings.store);
  reader.choice("sandbox", settings.sandbox, {"auto", "none", "bubblewrap"});
  reader.texts("gpus", settings.gpus);
  reader.number("durable_inline", settings.durable_inline, 0, kAny);
  reader.number("capture_bytes", settings.capture_bytes, 0, kAny);
  reader.number("worker_memory_bytes", settings.worker_memory_bytes, 0, kAny);
  reader.number("worker_pids", settings.worker_pids, 0, 1 << 22);
  reader.real("worker_cpus", settings.worker_cpus);
  reader.require("id", settings.id.value);
  reader.require("peer_listen", settings.peer_listen);
  reader.require("cluster_secret", settings.cluster_secret);
  reader.require("data_directory", settings.data_directory);
  reader.require("runtime_directory", settings.runtime_directory);
  if (auto result = reader.finish(); !result) return tl::unexpected(result.error());
  return settings;
}

std::string to_toml(const GatewaySettings& settings) {
  toml::array kernels;
  for (const auto& kernel : settings.kernels) {
    toml::table table{{"name", kernel.name},         {"display_name", kernel.display_name},
                      {"language", kernel.language}, {"logo_directory", kernel.logo_directory},
                      {"python", kernel.python},     {"gpus", static_cast<std::int64_t>(kernel.gpus)}};
    if (!kernel.durability.empty()) table.insert("durability", kernel.durability);
    if (!kernel.policy.empty()) table.insert("policy", kernel.policy);
    kernels.push_back(std::move(table));
  }
  return written(toml::table{{"http_address", settings.http_address},
                             {"http_port", settings.http_port},
                             {"token", settings.token},
                             {"allowed_origins", array_of(settings.allowed_origins)},
                             {"peer_listen", settings.peer_listen},
                             {"hosts", table_of(settings.hosts)},
                             {"cluster_secret", settings.cluster_secret},
                             {"store_path", settings.store_path},
                             {"replicas", static_cast<std::int64_t>(settings.replicas)},
                             {"placement", settings.placement},
                             {"executor_choice", settings.executor_choice},
                             {"election", settings.election},
                             {"standbys", settings.standbys},
                             {"durability", settings.durability},
                             {"suspend_after_s", static_cast<std::int64_t>(settings.suspend_after_s)},
                             {"session_policy", settings.session_policy},
                             {"subscription_limit", settings.subscription_limit},
                             {"gpus_per_user", static_cast<std::int64_t>(settings.gpus_per_user)},
                             {"gpu_hours_per_user", static_cast<std::int64_t>(settings.gpu_hours_per_user)},
                             {"keep_commits", static_cast<std::int64_t>(settings.keep_commits)},
                             {"keep_bytes", static_cast<std::int64_t>(settings.keep_bytes)},
                             {"kernels", kernels}});
}

std::string to_toml(const HostSettings& settings) {
  toml::array kernels;
  for (const auto& kernel : settings.kernels) {
    toml::table table{{"name", kernel.name}};
    if (!kernel.python.empty()) table.insert("python", kernel.python);
    if (!kernel.python_path.empty()) table.insert("python_path", kernel.python_path);
    if (kernel.preload) table.insert("preload", array_of(*kernel.preload));
    kernels.push_back(std::move(table));
  }
  return written(toml::table{{"id", settings.id.value},
                             {"peer_listen", settings.peer_listen},
                             {"advertise", settings.advertise},
                             {"peers", table_of(settings.peers)},
                             {"cluster_secret", settings.cluster_secret},
                             {"gateway_key", settings.gateway_key},
                             {"data_directory", settings.data_directory},
                             {"runtime_directory", settings.runtime_directory},
                             {"working_directory", settings.working_directory},
                             {"kernels", kernels},
                             {"python", settings.python},
                             {"python_path", settings.python_path},
                             {"preload", array_of(settings.preload)},
                             {"import_ahead", array_of(settings.import_ahead)},
                             {"plan", settings.plan},
                             {"store", settings.store},
                             {"sandbox", settings.sandbox},
                             {"gpus", array_of(settings.gpus)},
                             {"durable_inline", static_cast<std::int64_t>(settings.durable_inline)},
                             {"capture_bytes", static_cast<std::int64_t>(settings.capture_bytes)},
                             {"worker_memory_bytes", static_cast<std::int64_t>(settings.worker_memory_bytes)},
                             {"worker_pids", static_cast<std::int64_t>(settings.worker_pids)},
                             {"worker_cpus", settings.worker_cpus}});
}

}  // namespace banyan::daemons
