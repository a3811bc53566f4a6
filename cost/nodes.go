package cost

import (
	"fmt"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/diag"
)

// Nodes describes nodes joined by a network. Ranks on a node are adjacent and share memory. All nodes have
// the same number of ranks, except that the last one may have fewer.
type Nodes struct {
	Ranks   int     `json:"ranks"`      // number of ranks on a node
	Latency float64 `json:"latency_us"` // from node to node, in addition to the latency of a step between GPUs
	Rate    Curve   `json:"gbps"`       // rate of one GPU to the network, in one direction, by bytes of a message
}

// A ReachError reports a transfer over CUDA IPC to a rank of another node.
type ReachError struct {
	Pos  diag.Pos
	Name string // name of the transfer
}

func (e *ReachError) Error() string {
	return fmt.Sprintf("%s: %s goes over CUDA IPC, which does not reach another node: transport: auto, or via: nccl, does", e.Pos, e.Name)
}

// MeasuredRanks returns the largest number of ranks for which the machine's figures are measured. It is 0 for
// published figures, and at most the number of ranks on a node.
func (m *Machine) MeasuredRanks() int {
	if m.Published {
		return 0
	}
	most := 0
	for _, row := range m.NCCL.Teams {
		most = max(most, row.Ranks)
	}
	if m.Nodes != nil {
		most = min(most, m.Nodes.Ranks)
	}
	return most
}

// NodesOf returns how many nodes the given number of ranks takes.
func (m *Machine) NodesOf(ranks int) int {
	if m.Nodes == nil {
		return 1
	}
	return int(ceil(int64(ranks), int64(m.Nodes.Ranks)))
}

// together reports whether two ranks, by their places in the world, share memory.
func (m *Machine) together(a, b int32) bool {
	return m.Nodes == nil || a/int32(m.Nodes.Ranks) == b/int32(m.Nodes.Ranks)
}

// spread describes how a team is spread over nodes: the number of ranks, of nodes, and of ranks on the node with the fewest.
type spread struct{ ranks, nodes, fewest int }

// spreadOf returns the spread of ranks, by their places in the world.
func (m *Machine) spreadOf(members []int32) spread {
	if m.Nodes == nil {
		return spread{len(members), 1, len(members)}
	}
	on := map[int32]int{}
	for _, place := range members {
		on[place/int32(m.Nodes.Ranks)]++
	}
	s := spread{len(members), len(on), len(members)}
	for _, count := range on {
		s.fewest = min(s.fewest, count)
	}
	return s
}

// acrossNodes returns the work of a collective whose ranks are on several nodes. A ring moves data between nodes. Each rank of a
// node sends and receives an equal part of it. The network or the links inside the nodes bound the time, whichever is slower. In an
// all-to-all, each rank sends its own data. The ring adds the latency of the network each time that it passes from
// node to node. If all ranks are on one node, acrossNodes returns w unchanged.
func (m *Machine) acrossNodes(w work, form collective.Form, moved, steps float64, on spread) work {
	if on.nodes < 2 {
		return w
	}
	ranks := float64(on.ranks)
	bytes := moved / float64(on.fewest)
	if form.Exchanges() {
		bytes = moved * (ranks - float64(on.fewest)) / (ranks - 1)
	}
	return m.overNetwork(w, bytes, steps/(ranks-1)*float64(on.nodes-1))
}

// overNetwork adds network traffic to work: each rank also sends bytes over the network, in a number of hops. If the
// network takes longer than the links are in use, the fields in and out become shares of the network.
func (m *Machine) overNetwork(w work, bytes, hops float64) work {
	network := m.Nodes.Rate.Time(bytes)
	inside := w.alone
	w.alone = max(inside, network) + hops*m.Nodes.Latency
	for _, share := range []*float64{&w.in, &w.out, &w.hbm} {
		*share *= inside / w.alone
	}
	if w.crosses = network > inside*max(w.in, w.out); w.crosses {
		used := min(1, network/w.alone)
		if w.in > 0 {
			w.in = used
		}
		if w.out > 0 {
			w.out = used
		}
	}
	return w
}
