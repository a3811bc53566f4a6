package schedule

import (
	"fmt"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/transports"
)

// Facts are the properties of a communication that decide which choices are legal.
type Facts struct {
	Name     string   // the tensor of the spec that moves: the gathered tensor, or the result of a sum
	Kind     string   // "allgather", "reducescatter", ..., as reports call it
	Pos      diag.Pos // position of the operation in the spec
	Sum      bool     // the communication itself combines partial results of ranks, with Function
	Parts    bool     // every rank gets the partial sums of all ranks, and adds them afterwards; Sum is false
	Function string   // the function of Sum: "sum", "max", ...; empty if Sum is false
	InLoop   bool     // it is in a loop, which transfers slice by slice
	P2P      bool     // shards go from rank to rank
	Summed   bool     // it is a sum that goes from rank to rank, or gathers such a sum
	Axis     string   // the mesh axis of the ranks that take part; empty: no such axis
	Ranks    int64    // the number of ranks along Axis
	Schedule *Schedule
	// Loop has the communications of the same loop, including this one. They share structural fields.
	Loop []string
}

// Get returns the value of a field for the communication. For a structural field, it is the common value of the
// communications of the loop: see Together.
func (c *Facts) Get(field string) string {
	if f, _ := Named(field); f.Structural {
		return c.Schedule.Together(c.Loop, field)
	}
	return c.Schedule.Of(c.Name, field)
}

// Together returns the value of a structural field for the communications of one loop. It is the first value that one
// of them has by name, or else the value of All, or else the default.
func (s *Schedule) Together(loop []string, field string) string {
	for _, name := range loop {
		if c, ok := s.Given(name, field); ok && name != "" {
			return c.Value
		}
	}
	return s.Of("", field)
}

// Check returns the reason why a communication cannot have a choice, or nil.
func (c *Facts) Check(choice Choice) *Problem {
	f, _ := Named(choice.Field)
	if f.legal != nil {
		if p := f.legal(c); p != nil {
			return p
		}
	}
	if n, err := strconv.ParseInt(choice.Value, 10, 64); err == nil && f.fits != nil {
		return f.fits(n, c)
	}
	if legal := f.value(choice.Value).legal; legal != nil {
		return legal(c)
	}
	return nil
}

// inapplicable makes a problem of a choice that does not apply to this communication, but may apply to others.
func inapplicable(hint, format string, args ...any) *Problem {
	return &Problem{Why: fmt.Sprintf(format, args...), Hint: hint, Inapplicable: true}
}

func problem(hint, format string, args ...any) *Problem {
	return &Problem{Why: fmt.Sprintf(format, args...), Hint: hint}
}

// inLoop requires a communication in a loop, which has steps. Like the requirements below, it returns the reason why a
// choice is not legal, or nil.
func inLoop(c *Facts) *Problem {
	if !c.InLoop {
		return inapplicable("leave it out", "the %s of %s is one operation outside of any pipeline, and has no steps", c.Kind, c.Name)
	}
	return nil
}

// pointToPoint requires that shards go from rank to rank.
func pointToPoint(c *Facts) *Problem {
	if !c.P2P {
		return inapplicable("leave it out", "the %s of %s is a collective, and sends no shards from rank to rank", c.Kind, c.Name)
	}
	return nil
}

// carriedBy requires that a transport can carry the communication. With graph: true, a CUDA graph must capture its calls.
func carriedBy(r transports.Row) func(c *Facts) *Problem {
	return func(c *Facts) *Problem {
		switch {
		case !c.P2P && !r.Collectives:
			return inapplicable("leave out via; or choose pipeline: p2p, if the tensors have a Stream axis of the shards",
				"the %s of %s is a collective, which NCCL carries", c.Kind, c.Name)
		case r.Shares && c.Axis == c.Schedule.Get(Nodes):
			return inapplicable("leave out via; or leave out nodes", "%s moves along mesh axis %s, which leads from node to node: NCCL carries it",
				c.Name, c.Axis)
		case !r.Pairs && (c.P2P || c.Kind == "sendrecv"):
			return inapplicable("leave out via, and NCCL carries it", "the %s of %s sends from rank to rank, and %s carries only collectives",
				c.Kind, c.Name, r.Title)
		case !r.Graphs && c.Schedule.Get(Graph) == True:
			return problem("leave out graph, or via", "a CUDA graph captures no calls of %s, and graph is true", r.Title)
		}
		return nil
	}
}

// overIPC requires that shards go from rank to rank over CUDA IPC. It accepts a transport that the program chooses when it
// starts.
func overIPC(c *Facts) *Problem {
	if p := pointToPoint(c); p != nil {
		return p
	}
	if c.Schedule.Get(Transport) == Auto {
		if _, fixed := c.Schedule.Chosen(c.Name, Via); !fixed {
			return nil
		}
	}
	if r := transports.Named(c.Get(Via)); !r.Shares || carriedBy(r)(c) != nil {
		return inapplicable("choose via: ipc-get or via: ipc-put, or leave it out", "it is for CUDA IPC, and NCCL carries the %s of %s",
			c.Kind, c.Name)
	}
	return nil
}

// inPairs requires that the number of ranks is a power of two, so that every step divides the ranks into pairs.
func inPairs(c *Facts) *Problem {
	if c.Ranks&(c.Ranks-1) != 0 {
		return problem("choose steps: rotation", "pairwise needs a power of two of ranks, and mesh axis %s has %d", c.Axis, c.Ranks)
	}
	return nil
}

// inBrackets requires several sub-chunks, because bracket begins and ends with sub-chunks of the local shard.
func inBrackets(c *Facts) *Problem {
	if c.Get(Split) == "1" {
		return problem("say split: 2, or another number, too", "bracket begins and ends with sub-chunks of the local shard, and split is 1")
	}
	return nil
}

// hasLocalStep requires a separate step for the local shard, whose place in the order can be chosen.
func hasLocalStep(c *Facts) *Problem {
	if p := pointToPoint(c); p != nil {
		return p
	}
	switch {
	case c.Get(Steps) == Ring:
		return inapplicable("leave out local", "a ring works on what it passes on: its order is fixed")
	case c.Get(Steps) == Bracket:
		return inapplicable("leave out local", "bracket begins and ends with the local shard: its order is fixed")
	case c.Get(Block) == strconv.FormatInt(c.Ranks, 10):
		return inapplicable("leave out local, or choose a smaller block", "block: %d makes one GEMM of the shards of all ranks", c.Ranks)
	}
	return nil
}

// inBlocks requires that one GEMM may take several shards.
func inBlocks(c *Facts) *Problem {
	if p := pointToPoint(c); p != nil {
		return p
	}
	if c.Get(Steps) == Ring {
		return inapplicable("leave out block", "a ring passes on one shard a step, and makes no GEMM of several")
	}
	return nil
}

// blocksOfRanks requires that a block divides the ranks, and that a block of several shards is not cut into sub-chunks,
// unless the loops are interchanged.
func blocksOfRanks(n int64, c *Facts) *Problem {
	switch {
	case c.Ranks%n != 0:
		return problem(fmt.Sprintf("choose a divisor of %d", c.Ranks), "%d shards of mesh axis %s cannot be made blocks of %d",
			c.Ranks, c.Axis, n)
	case n > 1 && c.Get(Split) != "1" && !c.Interchanged():
		return problem("say interchange: true, too; or leave out one of them", "with split: %s a GEMM takes a sub-chunk of one shard",
			c.Get(Split))
	}
	return nil
}

// Interchanged reports whether the loop over sub-chunks is outside the loop over shards.
func (c *Facts) Interchanged() bool {
	return c.Summed && c.Get(Interchange) == True && c.Get(Steps) != Ring && c.Get(Steps) != Bracket && c.Get(Split) != "1"
}

// interchanges requires that a sum of one sub-chunk can be complete before the next sub-chunk begins.
func interchanges(c *Facts) *Problem {
	switch {
	case c.Get(Split) == "1":
		return problem("say split: 2, or another number, too", "there are no sub-chunks to turn outside: split is 1")
	case c.Get(Steps) == Bracket:
		return problem("choose other steps, or leave out interchange", "bracket goes through the sub-chunks of a shard one after the other")
	case !c.Summed || c.Get(Steps) == Ring:
		return inapplicable("leave out interchange; split alone cuts the shards of any pipeline",
			"it is for a sum over ranks that a pipeline sends from rank to rank, and for what gathers the sum")
	}
	return nil
}

// isSum requires that shards go from rank to rank, and that ranks add partial sums.
func isSum(c *Facts) *Problem {
	if c.Parts {
		return pointToPoint(c)
	}
	return addsParts(c)
}

// addsParts requires that shards go from rank to rank, and that ranks add partial sums as they receive them.
func addsParts(c *Facts) *Problem {
	if !c.Sum {
		return inapplicable("leave out fuse", "the %s of %s adds nothing", c.Kind, c.Name)
	}
	return pointToPoint(c)
}

// alongRing requires a sum that moves along a ring.
func alongRing(c *Facts) *Problem {
	if p := addsParts(c); p != nil {
		return p
	}
	if c.Get(Steps) != Ring {
		return problem("choose steps: ring, too; or fuse: none", "a GEMM accumulates what comes along a ring, and steps is %s", c.Get(Steps))
	}
	return nil
}

// sendsParts requires that a kernel can send a whole partial sum to all ranks.
func sendsParts(c *Facts) *Problem {
	via, chosen := c.Schedule.Chosen(c.Name, Via)
	switch {
	case !c.Parts:
		return inapplicable("choose another fuse", "not every rank needs the whole sum of %s", c.Name)
	case c.Axis == c.Schedule.Get(Nodes):
		return problem("choose fuse: none", "it writes the memory of peers, and mesh axis %s leads from node to node", c.Axis)
	case c.Schedule.Get(Transport) == Auto && !chosen:
		return nil
	case via.Value != IPCPut || c.Get(Copy) == Engine:
		return problem("choose via: ipc-put and copy: sm; or fuse: none", "a kernel writes the memory of peers, with via %s and copy %s",
			c.Get(Via), c.Get(Copy))
	}
	return nil
}

// readsPeers requires that a kernel can read the partial sums of all ranks in place.
func readsPeers(c *Facts) *Problem {
	if p := addsParts(c); p != nil {
		return p
	}
	via, chosen := c.Schedule.Chosen(c.Name, Via)
	switch {
	case c.Function != "sum":
		return problem("choose fuse: none", "peer-read supports only sums, got %s", c.Function)
	case c.Get(Steps) == Ring:
		return problem("choose steps: rotation; or fuse: none", "it reads the partial sums of all ranks, and a ring adds them one by one")
	case c.Get(Interchange) == True:
		return problem("leave out interchange; or choose fuse: none", "it reads whole partial sums, and interchange adds sub-chunks one by one")
	case c.Axis == c.Schedule.Get(Nodes):
		return problem("choose fuse: none", "it reads the memory of peers, and mesh axis %s leads from node to node", c.Axis)
	case c.Schedule.Get(Transport) == Auto && !chosen:
		return nil
	case via.Value != IPCGet:
		return problem("choose via: ipc-get; or fuse: none", "it reads the memory of peers, and via is %s", c.Get(Via))
	}
	return nil
}
