package schedule

import (
	"fmt"
	"strconv"

	"github.com/hirgen/hirgen/internal/diag"
)

// Facts are what the legality of a choice rests on: one communication of a program.
type Facts struct {
	Name     string   // the tensor of the spec that moves: what is gathered, or the result of a sum
	Kind     string   // "allgather", "reducescatter", ..., as reports call it
	Pos      diag.Pos // of the operation
	Sum      bool     // ranks add partial sums
	Function string   // of the sum: "sum", "max", ...
	InLoop   bool     // it moves slice by slice
	P2P      bool     // shards go from rank to rank
	Summed   bool     // it is a sum that goes from rank to rank, or gathers one
	Axis     string   // the mesh axis of the ranks that take part; empty for others
	Ranks    int64    // along it
	Schedule *Schedule
	// Loop are the communications of the same loop, this one too; structural fields are theirs together.
	Loop []string
}

// Get is the value that the communication has for a field. A structural one that it lacks follows the
// communications of its loop that have one by name.
func (c *Facts) Get(field string) string {
	if f, _ := Named(field); f.Structural {
		return c.Schedule.Together(c.Loop, field)
	}
	return c.Schedule.Of(c.Name, field)
}

// Together is the value that the communications of one loop have for a structural field: what one of them
// has by name, or that of All, or else the default.
func (s *Schedule) Together(loop []string, field string) string {
	for _, name := range loop {
		if c, ok := s.Given(name, field); ok && name != "" {
			return c.Value
		}
	}
	return s.Of("", field)
}

// Check says why a communication cannot have a choice; nil if it can.
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

// inapplicable is a problem of this communication that says nothing against others.
func inapplicable(hint, format string, args ...any) *Problem {
	return &Problem{Why: fmt.Sprintf(format, args...), Hint: hint, Inapplicable: true}
}

func problem(hint, format string, args ...any) *Problem {
	return &Problem{Why: fmt.Sprintf(format, args...), Hint: hint}
}

// inLoop: a communication of a loop has steps to lead.
func inLoop(c *Facts) *Problem {
	if !c.InLoop {
		return inapplicable("leave it out", "the %s of %s is one operation outside of any pipeline, and has no steps", c.Kind, c.Name)
	}
	return nil
}

// pointToPoint: shards go from rank to rank.
func pointToPoint(c *Facts) *Problem {
	if !c.P2P {
		return inapplicable("leave it out", "the %s of %s is a collective, and sends no shards from rank to rank", c.Kind, c.Name)
	}
	return nil
}

// sharesMemory: the ranks can share memory.
func sharesMemory(c *Facts) *Problem {
	switch {
	case !c.P2P:
		return inapplicable("leave out via; or choose pipeline: p2p, if the tensors have a Stream axis of the shards",
			"the %s of %s is a collective, which NCCL carries", c.Kind, c.Name)
	case c.Axis == c.Schedule.Get(Nodes):
		return inapplicable("leave out via; or leave out nodes", "%s moves along mesh axis %s, which leads from node to node: NCCL carries it", c.Name, c.Axis)
	}
	return nil
}

// overIPC: CUDA IPC carries it.
func overIPC(c *Facts) *Problem {
	if p := pointToPoint(c); p != nil {
		return p
	}
	if c.Schedule.Get(Transport) == Auto {
		if _, fixed := c.Schedule.Chosen(c.Name, Via); !fixed {
			return nil
		}
	}
	if c.Get(Via) == NCCL || sharesMemory(c) != nil {
		return inapplicable("choose via: ipc-get or via: ipc-put, or leave it out", "it is for CUDA IPC, and NCCL carries the %s of %s", c.Kind, c.Name)
	}
	return nil
}

// inPairs: the ranks can be divided into pairs in every step.
func inPairs(c *Facts) *Problem {
	if c.Ranks&(c.Ranks-1) != 0 {
		return problem("choose steps: rotation", "pairwise needs a power of two of ranks, and mesh axis %s has %d", c.Axis, c.Ranks)
	}
	return nil
}

// inBrackets: the local shard has sub-chunks for both ends.
func inBrackets(c *Facts) *Problem {
	if c.Get(Split) == "1" {
		return problem("say split: 2, or another number, too", "bracket begins and ends with sub-chunks of the local shard, and split is 1")
	}
	return nil
}

// hasLocalStep: the local shard has a step of its own, whose place can be chosen.
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

// inBlocks: one GEMM may take several shards.
func inBlocks(c *Facts) *Problem {
	if p := pointToPoint(c); p != nil {
		return p
	}
	if c.Get(Steps) == Ring {
		return inapplicable("leave out block", "a ring passes on one shard a step, and makes no GEMM of several")
	}
	return nil
}

// blocksOfRanks: a block divides the ranks, and does not meet a shard that is cut.
func blocksOfRanks(n int64, c *Facts) *Problem {
	switch {
	case c.Ranks%n != 0:
		return problem(fmt.Sprintf("choose a divisor of %d", c.Ranks), "%d shards of mesh axis %s cannot be made blocks of %d", c.Ranks, c.Axis, n)
	case n > 1 && c.Get(Split) != "1" && !c.Interchanged():
		return problem("say interchange: true, too; or leave out one of them", "with split: %s a GEMM takes a sub-chunk of one shard", c.Get(Split))
	}
	return nil
}

// Interchanged reports whether the sub-chunks of the communication are outside of its shards.
func (c *Facts) Interchanged() bool {
	return c.Summed && c.Get(Interchange) == True && c.Get(Steps) != Ring && c.Get(Steps) != Bracket && c.Get(Split) != "1"
}

// interchanges: a sum of sub-chunks can be complete before the next ones begin.
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

// isSum: ranks add partial sums in a pipeline.
func isSum(c *Facts) *Problem {
	if !c.Sum {
		return inapplicable("leave out fuse", "the %s of %s adds nothing", c.Kind, c.Name)
	}
	return pointToPoint(c)
}

// alongRing: a sum comes along a ring.
func alongRing(c *Facts) *Problem {
	if c.Get(Steps) != Ring {
		return problem("choose steps: ring, too; or fuse: none", "a GEMM accumulates what comes along a ring, and steps is %s", c.Get(Steps))
	}
	return nil
}

// readsPeers: a kernel can read the partial sums of all ranks where they are.
func readsPeers(c *Facts) *Problem {
	via, chosen := c.Schedule.Chosen(c.Name, Via)
	switch {
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
	case c.Function != "sum":
		return problem("choose fuse: none", "peer-read supports only sums, got %s", c.Function)
	}
	return nil
}
