// What REST says of kernels and notebooks. Source: the REST API of jupyter_server 2.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/json.h"

namespace banyan::api {

/// `GET /api`.
struct Version {
  static constexpr std::string_view kName = "Version";
  std::string version;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("version", self.version, "of the jupyter_server whose API this is");
  }
};

/// `GET /api/status`.
struct ServerStatus {
  static constexpr std::string_view kName = "ServerStatus";
  std::string started, last_activity;
  std::uint64_t kernels = 0, connections = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("started", self.started, "ISO 8601, in UTC");
    visit("last_activity", self.last_activity, "ISO 8601, in UTC");
    visit("kernels", self.kernels, "");
    visit("connections", self.connections, "WebSockets of clients");
  }
};

/// Who is asking.
struct Identity {
  static constexpr std::string_view kName = "Identity";
  std::string username, name, display_name, initials;
  Nullable<std::string> avatar_url, color;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("username", self.username, "");
    visit("name", self.name, "");
    visit("display_name", self.display_name, "");
    visit("initials", self.initials, "");
    visit("avatar_url", self.avatar_url, "");
    visit("color", self.color, "of the cursor, in CSS");
  }
};

/// `GET /api/me`.
struct Me {
  static constexpr std::string_view kName = "Me";
  Identity identity;
  std::map<std::string, nlohmann::json> permissions;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("identity", self.identity, "");
    visit("permissions", self.permissions, "by resource");
  }
};

/// A kernel: to its client, what is a session here.
struct Kernel {
  static constexpr std::string_view kName = "Kernel";
  std::string id, name, last_activity, execution_state;
  std::uint64_t connections = 0;
  std::optional<std::string> reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "a UUID");
    visit("name", self.name, "of its kernelspec");
    visit("last_activity", self.last_activity, "ISO 8601, in UTC");
    visit("execution_state", self.execution_state, "starting, idle, busy, restarting or dead");
    visit("connections", self.connections, "WebSockets of clients");
    visit("reason", self.reason, "why it cannot serve, and what to do");
  }
};

/// A kernel that is wanted.
struct NewKernel {
  static constexpr std::string_view kName = "NewKernel";
  std::optional<std::string> name;
  std::optional<std::map<std::string, std::string>> env;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "of a kernelspec; the default one when it is left out");
    visit(
        "env", self.env,
        "environment of its process; KERNEL_ID, a UUID, becomes the kernel's id, KERNEL_WORKING_DIR the "
        "folder "
        "where it begins, KERNEL_DURABILITY, sync or async, says whether replies wait for large values, and "
        "KERNEL_POLICY which session policy it has");
  }
};

/// Where a notebook is; jupyter_server's earlier form of that.
struct NotebookPlace {
  static constexpr std::string_view kName = "NotebookPlace";
  std::optional<std::string> path, name;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("path", self.path, "");
    visit("name", self.name, "");
  }
};

/// A Jupyter session: a notebook, a console or another document, and the kernel that it has.
struct NotebookSession {
  static constexpr std::string_view kName = "NotebookSession";
  std::string id, path, name, type;
  Kernel kernel;
  std::optional<NotebookPlace> notebook;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "a UUID");
    visit("path", self.path, "of the document");
    visit("name", self.name, "");
    visit("type", self.type, "notebook, console or file");
    visit("kernel", self.kernel, "");
    visit("notebook", self.notebook, "path and name once more, where the type is notebook");
  }
};

/// The kernel that a notebook is to have: one that there is, by its id, else a new one.
struct KernelOfNotebook {
  static constexpr std::string_view kName = "KernelOfNotebook";
  std::optional<std::string> id, name;
  std::optional<std::map<std::string, std::string>> env;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "of a kernel");
    visit("name", self.name, "of a kernelspec, for a new kernel");
    visit("env", self.env, "as in NewKernel");
  }
};

/// A Jupyter session that is wanted, or what is to change of one.
struct WantedNotebook {
  static constexpr std::string_view kName = "WantedNotebook";
  std::optional<std::string> path, name, type;
  std::optional<KernelOfNotebook> kernel;
  std::optional<NotebookPlace> notebook;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("path", self.path, "needed for a new session");
    visit("name", self.name, "");
    visit("type", self.type, "notebook when it is left out");
    visit("kernel", self.kernel, "");
    visit("notebook", self.notebook, "path and name, as earlier clients say them");
  }
};

/// A kernelspec.
struct KernelSpecModel {
  static constexpr std::string_view kName = "KernelSpec";
  std::string name;
  nlohmann::json spec;
  std::map<std::string, std::string> resources;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "");
    visit("spec", self.spec, "what kernel.json has");
    visit("resources", self.resources, "paths of logos and other files, by their names");
  }
};

/// All kernelspecs.
struct KernelSpecs {
  static constexpr std::string_view kName = "KernelSpecs";
  std::string default_name;
  std::map<std::string, KernelSpecModel> kernelspecs;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("default", self.default_name, "the one of a kernel that asks for none");
    visit("kernelspecs", self.kernelspecs, "by name");
  }
};

/// Why a request was not served.
struct Failure {
  static constexpr std::string_view kName = "Error";
  std::string reason, message;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("reason", self.reason, "the status in words");
    visit("message", self.message, "what a person is to know and do");
  }
};

}  // namespace banyan::api
