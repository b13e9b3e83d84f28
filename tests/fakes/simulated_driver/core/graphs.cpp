// SPDX-License-Identifier: BSD-3-Clause
// Graphs: instantiation and launch. The operations of a launched graph run in the order of a
// stream.
#include "driver.hpp"

namespace simulated {
namespace {

bool conflict(graph_node const& one, graph_node const& other) {
  for (access const& a : one.accesses) {
    for (access const& b : other.accesses) {
      if ((a.writes || b.writes) && a.start < b.end() && b.start < a.end()) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

void driver::destroy_graph(void* graph) {
  require(graphs.erase(graph) != 0);
  std::vector<allocation_ptr> owned;
  for (auto const& [start, one] : memory.all()) {
    if (one->graph == graph) {
      owned.push_back(one);
    }
  }
  for (allocation_ptr const& one : owned) {
    memory.free(*one);
  }
}

// Reports nodes of the graph that access the same bytes in no order.
void* driver::instantiate(void* graph) {
  auto const entry = graphs.find(graph);
  require(entry != graphs.end());
  auto const& nodes = entry->second.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (nodes[i].before.count(k) == 0 && conflict(nodes[i], nodes[k])) {
        races.report(nodes[i].name + " and " + nodes[k].name +
                     " are nodes of one graph without an edge, and access the same memory");
      }
    }
  }
  void* const handle = new_handle();
  executable_graphs[handle] = executable_graph{entry->second, nullptr};
  return handle;
}

void driver::destroy_executable(void* handle) { require(executable_graphs.erase(handle) != 0); }

void driver::launch(void* handle, stream_ptr const& queue) {
  auto const entry = executable_graphs.find(handle);
  require(entry != executable_graphs.end());
  executable_graph& launched = entry->second;
  for (graph_node const& node : launched.content.nodes) {
    for (access const& bytes : node.accesses) {
      allocation_ptr const around = memory.find(bytes.start);
      if (around == nullptr || around->freed_in_order) {
        races.report("the launch of a graph runs " + node.name +
                     ", which uses memory that was freed");
        require(around != nullptr, status::illegal_address);
      }
    }
  }
  if (launched.last != nullptr) {  // each launch is ordered after the one before
    wait_for(queue, launched.last);
  }
  for (graph_node const& node : launched.content.nodes) {
    launched.last = enqueue(queue, node.name + " of a graph", node.accesses, node.action,
                            node.is_host_callback);
  }
}

}  // namespace simulated
