package cost

import (
	"fmt"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Nodes are what ranks are on that share memory: adjacent ranks, as many on each, joined by a network.
type Nodes struct {
	Ranks   int     `json:"ranks"`      // of a node
	Latency float64 `json:"latency_us"` // of the way from node to node, beside that of a step between GPUs
	Rate    Curve   `json:"gbps"`       // of one GPU to the network, in one direction
}

// A ReachError is a transfer over CUDA IPC to a rank of another node.
type ReachError struct {
	Pos  diag.Pos
	Name string // of the transfer
}

func (e *ReachError) Error() string {
	return fmt.Sprintf("%s: %s goes over CUDA IPC, which does not reach another node: transport: auto, or via: nccl, does", e.Pos, e.Name)
}

// MeasuredRanks is the number of ranks up to which the machine's figures are measured: 0 where they are not, and never
// more than there are on a node.
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

// NodesOf is how many nodes so many ranks take.
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

// spread is how the ranks of a team lie: on so many nodes, with so many on the one with the fewest.
type spread struct{ nodes, fewest int }

// spreadOf is how ranks lie, by their places in the world.
func (m *Machine) spreadOf(members []int32) spread {
	if m.Nodes == nil {
		return spread{1, len(members)}
	}
	on := map[int32]int{}
	for _, place := range members {
		on[place/int32(m.Nodes.Ranks)]++
	}
	s := spread{len(on), len(members)}
	for _, count := range on {
		s.fewest = min(s.fewest, count)
	}
	return s
}

// acrossNodes is a collective whose ranks are on several nodes. What a ring carries from node to node, all ranks of a
// node send and receive together, each a part; the slower of that and of the links inside bounds it. In an all-to-all each
// rank sends for itself. The way around the ring has a latency of the network for each change of nodes.
func (m *Machine) acrossNodes(w work, s *hostir.Communication, moved, steps float64, on spread) work {
	if on.nodes < 2 {
		return w
	}
	ranks := float64(s.TeamSize())
	bytes := moved / float64(on.fewest)
	if s.Type == hostir.AllToAll {
		bytes = moved * (ranks - float64(on.fewest)) / (ranks - 1)
	}
	return m.overNetwork(w, bytes, steps/(ranks-1)*float64(on.nodes-1))
}

// overNetwork is work that also sends so many bytes of each of its ranks over the network, by so many of its hops. Where
// that takes longer than all else, it is what the work uses.
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
