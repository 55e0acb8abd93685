#include "cli/fleet/fleet_input.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "base/csv.h"

namespace banyan::cli {

namespace {

constexpr const char* kResourceColumns[] = {"gpu", "cpu", "ram_gib"};

Result<Csv> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorKind::kIo, path + ": cannot be read");
  return Csv::parse(std::string{std::istreambuf_iterator<char>(file), {}}, path);
}

bool among(std::string_view column, std::initializer_list<std::string_view> known) {
  return std::ranges::find(known, column) != known.end();
}

/// Reads the numbers of a row and keeps the first error.
class Numbers {
 public:
  Numbers(const Csv& csv, const Csv::Row& row) : csv_(csv), row_(row) {}

  double operator()(const std::string& column, double otherwise = 0) {
    if (csv_.text(row_, column).empty() && (!csv_.has(column) || column.find('@') != std::string::npos))
      return otherwise;
    const auto value = csv_.number(row_, column);
    if (!value && !error_) error_ = value.error();
    return value ? *value : otherwise;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const Csv& csv_;
  const Csv::Row& row_;
  std::optional<Error> error_;
};

Result<Done> read_catalog(const std::string& path, FleetInput& input) {
  const auto csv = read(path);
  if (!csv) return tl::unexpected(csv.error());
  if (auto ok = csv->require({"type", "family", "gpu", "cpu", "ram_gib", "usd_h"}); !ok) return ok;
  const auto known = [](std::string_view column) {
    return among(column, {"type", "family", "gpu", "cpu", "ram_gib", "usd_h"});
  };
  if (auto ok = csv->allow(known, "type, family, gpu, cpu, ram_gib, usd_h"); !ok) return ok;
  eva::Catalog& catalog = input.catalog;
  for (const Csv::Row& row : csv->rows()) {
    Numbers number(*csv, row);
    eva::InstanceType type{.name = std::string(csv->text(row, "type")),
                           .capacity = eva::resources(number("gpu"), number("cpu"), number("ram_gib")),
                           .usd_h = number("usd_h")};
    if (number.error()) return tl::unexpected(*number.error());
    if (type.name.empty()) return csv->wrong(row, "type is empty");
    if (type.usd_h == 0) return csv->wrong(row, "usd_h is 0; a price is above it");
    if (std::ranges::find(catalog.types, type.name, &eva::InstanceType::name) != catalog.types.end())
      return csv->wrong(row, "type '" + type.name + "' is there twice");
    const std::string family(csv->text(row, "family"));
    auto at = std::ranges::find(catalog.families, family);
    if (at == catalog.families.end()) at = catalog.families.insert(at, family);
    type.family = static_cast<std::uint32_t>(at - catalog.families.begin());
    catalog.types.push_back(std::move(type));
  }
  if (catalog.types.empty()) return fail(ErrorKind::kInvalid, path + ":1: has no instance type");
  return Done{};
}

/// What makes a workload: tasks that differ in none of these share one.
struct Shape {
  std::string kind;
  std::vector<std::optional<eva::Profile>> on;

  friend bool operator<(const Shape& a, const Shape& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    return std::ranges::lexicographical_compare(a.on, b.on, [](const auto& x, const auto& y) {
      if (!x || !y) return !x && y;
      return std::tie(x->demand, x->speed) < std::tie(y->demand, y->speed);
    });
  }
};

Result<Shape> read_shape(const Csv& csv, const Csv::Row& row, const eva::Catalog& catalog) {
  Numbers number(csv, row);
  Shape shape{.kind = std::string(csv.text(row, "workload")), .on = {}};
  for (const std::string& family : catalog.families) {
    double amounts[eva::kResources];
    for (std::size_t r = 0; r < eva::kResources; ++r)
      amounts[r] = number(std::string(kResourceColumns[r]) + "@" + family, number(kResourceColumns[r]));
    const double speed = number("speed@" + family, 1);
    shape.on.push_back(
        speed == 0 ? std::nullopt
                   : std::optional(eva::Profile{eva::resources(amounts[0], amounts[1], amounts[2]), speed}));
  }
  if (number.error()) return tl::unexpected(*number.error());
  return shape;
}

Result<Done> read_tasks(const std::string& path, FleetInput& input) {
  const auto csv = read(path);
  if (!csv) return tl::unexpected(csv.error());
  if (auto ok = csv->require({"id", "gpu", "cpu", "ram_gib"}); !ok) return ok;
  const auto known = [&](std::string_view column) {
    const auto at = column.find('@');
    if (at == std::string_view::npos)
      return among(column, {"id", "workload", "job", "move_usd", "gpu", "cpu", "ram_gib"});
    return among(column.substr(0, at), {"gpu", "cpu", "ram_gib", "speed"}) &&
           std::ranges::find(input.catalog.families, column.substr(at + 1)) != input.catalog.families.end();
  };
  if (auto ok = csv->allow(known,
                           "id, gpu, cpu, ram_gib, workload, job, move_usd, and gpu, cpu, ram_gib, speed "
                           "with @FAMILY of the catalog");
      !ok)
    return ok;
  std::map<std::string, std::size_t, std::less<>> lines;  // the line on which each id stands
  std::map<std::string, std::uint32_t> kinds;
  std::map<Shape, std::uint32_t> shapes;
  std::map<std::string, std::vector<std::uint32_t>> jobs;
  for (const Csv::Row& row : csv->rows()) {
    const std::string id(csv->text(row, "id"));
    if (id.empty()) return csv->wrong(row, "id is empty");
    if (const auto [at, added] = lines.emplace(id, row.line); !added)
      return csv->wrong(row, "id '" + id + "' is already on line " + std::to_string(at->second));
    auto shape = read_shape(*csv, row, input.catalog);
    if (!shape) return tl::unexpected(shape.error());
    const auto kind = kinds.emplace(shape->kind, static_cast<std::uint32_t>(kinds.size())).first->second;
    const auto [known_shape, is_new] = shapes.emplace(*shape, static_cast<std::uint32_t>(shapes.size()));
    if (is_new) input.workloads.push_back({shape->kind, kind, shape->on});
    if (!eva::reservation(input.catalog, input.workloads[known_shape->second]))
      return csv->wrong(row,
                        "task '" + id + "' fits no type of the catalog; ask for less or add a larger type");
    Numbers number(*csv, row);
    eva::Task task{.id = input.tasks.size(),
                   .workload = known_shape->second,
                   .move_usd = static_cast<float>(number("move_usd"))};
    if (number.error()) return tl::unexpected(*number.error());
    if (const std::string job(csv->text(row, "job")); !job.empty())
      jobs[job].push_back(static_cast<std::uint32_t>(input.tasks.size()));
    input.tasks.push_back(task);
    input.task_names.push_back(id);
  }
  for (const auto& [job, tasks] : jobs)
    for (const std::uint32_t task : tasks)
      input.tasks[task].job_tasks = static_cast<std::uint32_t>(tasks.size());
  input.kinds = static_cast<std::uint32_t>(kinds.size());
  return Done{};
}

Result<Done> read_current(const std::string& path, FleetInput& input) {
  const auto csv = read(path);
  if (!csv) return tl::unexpected(csv.error());
  if (auto ok = csv->require({"instance", "type", "task"}); !ok) return ok;
  const auto known = [](std::string_view column) { return among(column, {"instance", "type", "task"}); };
  if (auto ok = csv->allow(known, "instance, type, task"); !ok) return ok;
  std::vector<eva::Resources> free;
  for (const Csv::Row& row : csv->rows()) {
    const std::string name(csv->text(row, "instance"));
    const auto type =
        std::ranges::find(input.catalog.types, csv->text(row, "type"), &eva::InstanceType::name);
    if (type == input.catalog.types.end())
      return csv->wrong(row,
                        "no type of the catalog is called '" + std::string(csv->text(row, "type")) + "'");
    const auto type_index = static_cast<std::uint32_t>(type - input.catalog.types.begin());
    auto at = std::ranges::find(input.instance_names, name);
    const auto instance = static_cast<std::uint32_t>(at - input.instance_names.begin());
    if (at == input.instance_names.end()) {
      input.instances.push_back({instance, type_index});
      input.instance_names.push_back(name);
      free.push_back(type->capacity);
    }
    if (input.instances[instance].type != type_index)
      return csv->wrong(row, "instance '" + name + "' was of another type before");
    const std::string_view id = csv->text(row, "task");
    if (id.empty()) continue;
    const auto task = std::ranges::find(input.task_names, id);
    if (task == input.task_names.end())
      return csv->wrong(row, "task '" + std::string(id) + "' is not in the list of tasks");
    eva::Task& placed = input.tasks[static_cast<std::size_t>(task - input.task_names.begin())];
    if (placed.instance != eva::kNone)
      return csv->wrong(row, "task '" + std::string(id) + "' is on '" +
                                 input.instance_names[placed.instance] + "' already");
    const auto& profile = input.workloads[placed.workload].on[type->family];
    if (!profile || !eva::fits(profile->demand, free[instance]))
      return csv->wrong(row, "task '" + std::string(id) + "' does not fit on '" + name + "'");
    free[instance] -= profile->demand;
    placed.instance = instance;
  }
  return Done{};
}

}  // namespace

Result<FleetInput> read_fleet_input(const std::string& tasks_path, const std::string& catalog_path,
                                    const std::string& current_path) {
  FleetInput input;
  if (auto ok = read_catalog(catalog_path, input); !ok) return tl::unexpected(ok.error());
  if (auto ok = read_tasks(tasks_path, input); !ok) return tl::unexpected(ok.error());
  if (current_path.empty()) return input;
  if (auto ok = read_current(current_path, input); !ok) return tl::unexpected(ok.error());
  return input;
}

}  // namespace banyan::cli
