#include "core/planner/choice.h"

#include <algorithm>
#include <array>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <numeric>
#include <utility>
#include <vector>

namespace banyan::planner {

namespace {

/// How the reason of a value begins that lacks something it is made of. It is said once, however many cells
/// lie between the value and what is missing.
const std::string kMadeOf = "it is made of something that cannot be had: ";

using Index = HistoryGraph::Index;

// The capacity of an arc that no cut may take: more than all costs together, and still far from an overflow
// when several are added.
constexpr std::int64_t kInfinite = std::int64_t{1} << 60;
constexpr std::int64_t kCostMax = std::int64_t{1} << 38;  // 3 days

using Node = std::uint32_t;
using Network = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                   boost::no_property, Node, std::uint32_t>;
using Edge = boost::graph_traits<Network>::edge_descriptor;

// A minimum cut between a source and a sink: Boost's algorithm behind a list of arcs.
class Cut {
 public:
  Cut(std::size_t nodes, std::size_t arcs)
      : source_(static_cast<Node>(nodes)), sink_(source_ + 1), colors_(nodes + 2) {
    arcs_.reserve(arcs);
  }

  [[nodiscard]] Node source() const { return source_; }
  [[nodiscard]] Node sink() const { return sink_; }

  void connect(Node from, Node to, std::int64_t capacity) { arcs_.push_back({from, to, capacity}); }

  void run() {
    // Boost wants the edges sorted by where they begin, and each arc with an edge back: a counting sort.
    std::vector<std::uint32_t> ends(colors_.size() + 1);
    for (const Arc& arc : arcs_) {
      ++ends[arc.from + 1];
      ++ends[arc.to + 1];
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<std::pair<Node, Node>> edges(2 * arcs_.size());
    std::vector<std::int64_t> capacities(edges.size());
    std::vector<Edge> reverses(edges.size());
    for (const Arc& arc : arcs_) {
      const auto there = ends[arc.from]++;
      const auto back = ends[arc.to]++;
      edges[there] = {arc.from, arc.to};
      edges[back] = {arc.to, arc.from};
      capacities[there] = arc.capacity;
      reverses[there] = Edge(arc.to, back);
      reverses[back] = Edge(arc.from, there);
    }
    const Network network(boost::edges_are_sorted, edges.begin(), edges.end(),
                          static_cast<Node>(colors_.size()));
    const auto of_edge = boost::get(boost::edge_index, network);
    const auto of_node = boost::get(boost::vertex_index, network);
    std::vector<std::int64_t> residuals(edges.size());
    std::vector<Edge> predecessors(colors_.size());
    std::vector<std::int64_t> distances(colors_.size());
    boost::boykov_kolmogorov_max_flow(network, boost::make_iterator_property_map(capacities.begin(), of_edge),
                                      boost::make_iterator_property_map(residuals.begin(), of_edge),
                                      boost::make_iterator_property_map(reverses.begin(), of_edge),
                                      boost::make_iterator_property_map(predecessors.begin(), of_node),
                                      boost::make_iterator_property_map(colors_.begin(), of_node),
                                      boost::make_iterator_property_map(distances.begin(), of_node), of_node,
                                      source_, sink_);
  }

  /// Whether a node is on the source's side.
  [[nodiscard]] bool before(Node node) const { return colors_[node] == boost::black_color; }

 private:
  struct Arc {
    Node from;
    Node to;
    std::int64_t capacity;
  };

  Node source_;
  Node sink_;
  std::vector<Arc> arcs_;
  std::vector<boost::default_color_type> colors_;
};

class Choosing {
 public:
  Choosing(const HistoryGraph& graph, const Costs& costs) : graph_(graph) {
    load_.reserve(graph.versions().size());
    run_us_.reserve(graph.cells().size());
    why_not_.reserve(graph.cells().size());
    for (const auto& version : graph.versions()) {
      auto cost = costs.load(version.id);
      if (cost)
        cost = {.way_us = std::clamp<std::int64_t>(cost->way_us, 0, kCostMax),
                .here_us = std::clamp<std::int64_t>(cost->here_us, 0, kCostMax)};
      load_.push_back(cost);
    }
    for (const auto& cell : graph.cells())
      run_us_.push_back(std::clamp<std::int64_t>(costs.run_us(cell), 0, kCostMax));
    judge();
  }

  Choice run(Strategy strategy) {
    switch (strategy) {
      case Strategy::kLeast:
        return cut({});
      case Strategy::kStreamed:
        return streamed();
      case Strategy::kLoadAll:
        return cut({.way = 0, .here = 0});
      case Strategy::kRunAll:
        return cut({.run = 0});
    }
    return {};
  }

 private:
  /// How much each kind of cost counts, in quarters of its own value.
  struct Weights {
    std::int64_t way = 4;
    std::int64_t here = 4;
    std::int64_t run = 4;
  };

  /// Bytes travel while cells run, so what counts is the longer of the two. No single cut gives the least
  /// time: this tries cuts that weigh the way more (then more cells run) or less, and goes on in that
  /// direction as long as the same side remains the longer one.
  Choice streamed() {
    Choice best = cut({});
    const auto comes = [](const auto& load) { return load && load->way_us > 0; };
    if (std::ranges::none_of(load_, comes)) return best;
    const bool by_way = way_us_ == best.time_us;
    for (const int way : by_way ? std::array{8, 16, 32} : std::array{2, 1, 0}) {
      Choice other = cut({.way = way});
      const bool other_by_way = way_us_ == other.time_us;
      if (other.time_us < best.time_us) best = std::move(other);
      if (other_by_way != by_way) break;
    }
    return best;
  }

  /// The network: source -> wanted version (infinite) -> its maker (the cost of loading the version) -> sink
  /// (the cost of running the cell), and cell -> each version that it reads (infinite). A version on the
  /// source's side is needed; it is loaded where its maker is on the other side, and made where that runs.
  Choice cut(const Weights& weights) {
    Choice choice;
    const auto load_weight = [&](const LoadCost& cost) {
      return cost.way_us * weights.way + weighed(cost.here_us, weights.here);
    };
    const std::size_t nodes = graph_.versions().size() + graph_.cells().size();
    std::size_t reads = 0;
    for (const auto& cell : graph_.cells()) reads += cell.reads.size();
    Cut cut(nodes, nodes + reads + graph_.wanted().size());
    for (const Index version : graph_.wanted()) {
      if (why(version).empty()) {
        cut.connect(cut.source(), version, kInfinite);
      } else {
        choice.lost.emplace(graph_.versions()[version].id, why(version));
      }
    }
    for (Index version = 0; version < graph_.versions().size(); ++version) {
      if (!why(version).empty()) continue;
      const Index maker = graph_.versions()[version].maker;
      const auto cost = load_[version] ? load_weight(*load_[version]) : kInfinite;
      cut.connect(version, why_not_[maker].empty() ? node_of(maker) : cut.sink(), cost);
    }
    for (Index cell = 0; cell < graph_.cells().size(); ++cell) {
      if (!why_not_[cell].empty()) continue;
      cut.connect(node_of(cell), cut.sink(), weighed(run_us_[cell], weights.run));
      for (const Index version : graph_.cells()[cell].reads) cut.connect(node_of(cell), version, kInfinite);
    }
    cut.run();
    way_us_ = 0;
    std::int64_t here_us = 0;
    for (Index cell = 0; cell < graph_.cells().size(); ++cell) {
      if (!cut.before(node_of(cell))) continue;
      choice.runs.insert(graph_.cells()[cell].commit);
      here_us += run_us_[cell];
    }
    for (Index version = 0; version < graph_.versions().size(); ++version) {
      if (!cut.before(version) || cut.before(node_of(graph_.versions()[version].maker))) continue;
      choice.loads.insert(graph_.versions()[version].id);
      way_us_ += load_[version]->way_us;
      here_us += load_[version]->here_us;
    }
    choice.cost_us = way_us_ + here_us;
    choice.time_us = std::max(way_us_, here_us);
    return choice;
  }

  [[nodiscard]] Node node_of(Index cell) const { return static_cast<Node>(graph_.versions().size()) + cell; }
  // Each load and each run costs a microsecond more, so that of equal choices the one with fewer of them
  // wins.
  [[nodiscard]] static std::int64_t weighed(std::int64_t cost_us, std::int64_t quarters) {
    return (cost_us + 1) * quarters;
  }

  /// Why a version can be neither loaded nor made; empty when it can.
  [[nodiscard]] const std::string& why(Index version) const {
    static const std::string nothing;
    return load_[version] ? nothing : why_not_[graph_.versions()[version].maker];
  }

  /// Decides which cells can run. Older cells come first, because they made what a cell reads.
  void judge() {
    for (const auto& cell : graph_.cells()) {
      std::string reason = cell.objection;
      for (auto it = cell.reads.begin(); it != cell.reads.end() && reason.empty(); ++it)
        if (const std::string& of = why(*it); !of.empty())
          reason = of.starts_with(kMadeOf) ? of : kMadeOf + of;
      why_not_.push_back(std::move(reason));
    }
  }

  const HistoryGraph& graph_;
  std::vector<std::optional<LoadCost>> load_;
  std::vector<std::int64_t> run_us_;
  std::vector<std::string> why_not_;  ///< why each cell cannot run; empty: it can
  std::int64_t way_us_ = 0;           ///< the sum of all ways of the last cut
};

}  // namespace

Result<Strategy> strategy_named(std::string_view name) {
  if (name == "least") return Strategy::kLeast;
  if (name == "streamed") return Strategy::kStreamed;
  if (name == "load_all") return Strategy::kLoadAll;
  if (name == "run_all") return Strategy::kRunAll;
  return fail(ErrorKind::kNotFound,
              "no strategy '" + std::string(name) + "'; there are: least, streamed, load_all, run_all");
}

Choice choose(const HistoryGraph& graph, const Costs& costs, Strategy strategy) {
  return Choosing(graph, costs).run(strategy);
}

std::int64_t time_of(const Choice& choice, const HistoryGraph& graph, const Costs& costs) {
  std::int64_t way_us = 0, here_us = 0;
  for (const auto& version : choice.loads) {
    const auto load = costs.load(version);
    if (!load) continue;
    way_us += load->way_us;
    here_us += load->here_us;
  }
  for (const auto& cell : graph.cells()) {
    if (choice.runs.contains(cell.commit)) here_us += costs.run_us(cell);
  }
  return std::max(way_us, here_us);
}

}  // namespace banyan::planner
