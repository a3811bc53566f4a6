package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/tools/recall/faults"
	"github.com/hirgen/hirgen/prove/unroll"
)

// unit is what a statement does in one iteration on a rank, as its effects declare it. An NCCL group has one for each call.
type unit struct {
	rank     int32
	stmt     calls.Stmt
	accesses []unroll.Access
}

// comparison compares the units of a program with the log of a run.
type comparison struct {
	program *unroll.Program
	log     *accessLog
	nodes   []int               // node of each rank; nil: one for all
	owner   map[uint64]memoryOf // owner of each logged memory
	bases   []int64             // by call: byte offset of the arguments in their allocations
	units   int                 // number of units compared so far
}

// memoryOf is a memory of a rank: the number of an argument or a buffer, or -1 for the workspaces.
type memoryOf struct{ rank, number int32 }

// bases has the offsets of arguments in their allocations, in bytes, for each logged call of a run with the arguments
// brief. The key is the number of logged calls, which is smaller with a graph, because a graph is captured once for
// each offset.
var bases = map[int][]int64{5: {leastAligned, leastAligned, 0, 0, 0}, 2: {leastAligned, 0}}

// leastAligned is HIRGEN_ALIGNMENT, in bytes: some checked calls begin arguments that far after the start of an
// allocation.
const leastAligned = 16

// comparesLog compares the accesses that the calls of a program declare with the log of a run: both must read and
// write the same bytes, in every iteration on every rank. variant is 0 for the program and 1 for its fallback. prefix
// is the path of the log files, which end in a dot and a suffix.
func (f folder) comparesLog(t *testing.T, variant int, prefix string) *comparison {
	t.Helper()
	programs, err := text.ParseAll("calls.txt", f.source(t, "calls.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var nodes []int // of a fallback variant, in which no ranks share memory
	for rank := range programs[variant].Ranks() {
		if variant > 0 {
			nodes = append(nodes, rank)
		}
	}
	program, err := unroll.Unroll(programs[variant], nodes)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(prefix + ".*")
	log, err := readLog(files)
	if err != nil {
		t.Fatal(err)
	}
	c := &comparison{program: program, log: log, nodes: nodes}
	mistakes := c.compare()
	for _, mistake := range mistakes[:min(len(mistakes), 10)] {
		t.Error(mistake)
	}
	if c.units == 0 {
		t.Error("nothing was compared")
	}
	return c
}

// under puts a fault into a table and compares the same log with what the calls then declare. It returns the
// differences.
func (c *comparison) under(f *faults.TableFault) (mistakes []string) {
	defer f.Seed()()
	program, err := unroll.Unroll(c.program.Calls, c.nodes)
	if err != nil {
		return []string{err.Error()}
	}
	return (&comparison{program: program, log: c.log}).compare()
}

// identify finds the memories of the program in the log. The label of an allocation names its origin.
func (c *comparison) identify() {
	c.owner = map[uint64]memoryOf{}
	declared := c.program.Calls
	for _, a := range c.log.allocations {
		if strings.HasSuffix(a.Label, " workspace") {
			c.owner[a.Memory] = memoryOf{a.Device, -1}
			continue
		}
		for number, m := range c.program.Memories {
			where := m.Where
			if number < len(declared.Arguments) {
				where = declared.Arguments[number].Tensor
			}
			if where != "" && (a.Label == where || m.Where == "" && strings.HasSuffix(a.Label, " "+where)) {
				if _, known := c.owner[a.Memory]; !known {
					c.owner[a.Memory] = memoryOf{a.Device, int32(number)}
				}
			}
		}
	}
}

// compare returns the differences between declared and logged accesses.
func (c *comparison) compare() (mistakes []string) {
	c.identify()
	for rank := range c.program.Ranks {
		declared, done := c.declared(int32(rank)), c.log.calls[int32(rank)]
		times := timesCalled(declared, done)
		if c.bases = bases[times]; c.bases == nil {
			for label, units := range declared {
				mistakes = append(mistakes, fmt.Sprintf("rank %d: %q: %d in each call, and %d lines", rank, label, len(units), len(done[label])))
			}
			return mistakes
		}
		for label, units := range declared {
			each := len(done[label]) / (times * len(units)) // lines of a unit
			for n := range times * len(units) {
				for _, mistake := range c.unit(units[n%len(units)], n/len(units), done[label][n*each:][:each]) {
					mistakes = append(mistakes, fmt.Sprintf("rank %d: %q, %d of %d in call %d: %s", rank, label, n%len(units), len(units),
						n/len(units), mistake))
				}
			}
		}
		for _, l := range c.program.Calls.Labels {
			if declared[l.Text] == nil && slices.ContainsFunc(done[l.Text], c.ours) {
				mistakes = append(mistakes, fmt.Sprintf("rank %d: %q is logged and not declared", rank, l.Text))
			}
		}
	}
	return mistakes
}

// timesCalled returns how often the program was called: the largest key of bases for which each unit has the same
// number of lines in each call, or 0 if none fits.
func timesCalled(declared map[string][]unit, done map[string][]logged) int {
	for _, times := range slices.Backward(slices.Sorted(maps.Keys(bases))) {
		fits := true
		for label, units := range declared {
			lines := len(done[label])
			fits = fits && lines > 0 && lines%(times*len(units)) == 0
		}
		if fits {
			return times
		}
	}
	return 0
}

// ours reports whether a call accesses memory of the program.
func (c *comparison) ours(l logged) bool {
	return slices.ContainsFunc(l.Operands, func(o loggedOperand) bool { _, ok := c.owner[o.Memory]; return ok })
}

// declared lists the units of a rank by label, in the order of issue.
func (c *comparison) declared(rank int32) map[string][]unit {
	labels, units := map[string]string{}, map[string][]unit{}
	for _, l := range c.program.Calls.Labels {
		labels[l.Name] = l.Text
	}
	batches := map[calls.Stmt]string{} // the labels of copies that one kernel makes
	for batch := range calls.Each[*calls.MemOpBatch](c.program.Calls.Body) {
		for s := range calls.All(batch.Body) {
			batches[s] = batch.Label
		}
	}
	of := &c.program.Ranks[rank]
	add := func(stmt int32, accesses []unroll.Access) {
		if s := c.program.Stmts[stmt]; len(accesses) > 0 {
			label := labels[cmp.Or(s.Meta().Label, batches[s])]
			units[label] = append(units[label], unit{rank, s, accesses})
		}
	}
	for i := range of.Ops {
		switch op := &of.Ops[i]; op.Kind {
		case unroll.Copy, unroll.Transfer, unroll.PeerSum, unroll.Gemm, unroll.Attend, unroll.Launch:
			counts := func(a unroll.Access) bool { return a.Operand == unroll.Counting }
			add(op.Stmt, slices.DeleteFunc(slices.Clone(of.AccessesOf(op)), counts))
		case unroll.Nccl:
			for _, p := range of.PartsOf(op) {
				var accesses []unroll.Access
				for _, n := range []int32{p.Out, p.In} {
					if n >= 0 {
						accesses = append(accesses, of.Accesses[n])
					}
				}
				add(p.Stmt, accesses)
			}
		}
	}
	return units
}

// touched identifies the reads, or the writes, of one memory.
type touched struct {
	memory memoryOf
	write  bool
}

// unit compares a unit with its logged calls.
func (c *comparison) unit(u unit, call int, done []logged) (mistakes []string) {
	c.units++
	declared, found := map[touched][]byteRun{}, map[touched][]byteRun{}
	for _, a := range u.accesses {
		if l := c.program.Layouts[a.Layout]; c.program.Memories[a.Memory].Kind == issue.Workspace {
			declared[touched{memoryOf{u.rank, -1}, true}] = []byteRun{{0, math.MaxInt64}}
		} else {
			at := touched{memoryOf{a.Owner, a.Memory}, a.Write}
			declared[at] = append(declared[at], strided(a.Offset, l.Size, l.Extents, l.Strides)...)
		}
	}
	for _, l := range done {
		for _, o := range l.Operands {
			m, ok := c.owner[o.Memory]
			if !ok {
				mistakes = append(mistakes, fmt.Sprintf("%s accesses memory that is not the program's", l.Kind))
			}
			found[touched{m, o.Write}] = append(found[touched{m, o.Write}], strided(o.At, o.Size, o.Extents, o.Strides)...)
		}
	}
	for p := range found {
		declared[p] = append([]byteRun{}, declared[p]...)
	}
	for p := range declared {
		if mistake := c.differs(u, p, declared, c.placed(p.memory, call, merged(found[p]))); mistake != "" {
			mistakes = append(mistakes, mistake)
		}
	}
	return mistakes
}

// differs compares the bytes that a unit declares to read or write in one memory with the logged ones. It describes
// the difference; empty: none.
func (c *comparison) differs(u unit, p touched, declared map[touched][]byteRun, does []byteRun) string {
	declares, written := merged(declared[p]), merged(declared[touched{p.memory, true}])
	_, attends := u.stmt.(*calls.Attend)
	launch, _ := u.stmt.(*calls.Launch)
	verb, name := map[bool]string{false: "reads", true: "writes"}[p.write], "a workspace"
	switch {
	case p.memory.number < 0: // which part of a workspace is used is up to the library
		declares, does = nil, without(does, written)
	case attends && !p.write: // later kernels read what earlier ones wrote
		declares, does = without(declares, written), without(does, written)
	case attends: // how much of its scratch memory is used is up to the library
		declares = without(declares, without(c.bytes(u, p, effects.Scratch), does))
	case launch != nil && launch.Gathers(): // the ids decide which rows of the table are read
		declares = without(declares, without(c.bytes(u, p, 1), does))
	}
	if slices.Equal(declares, does) {
		return ""
	}
	if p.memory.number >= 0 {
		name = c.program.Memories[p.memory.number].Name
	}
	return fmt.Sprintf("%s %s of rank %d: declared and not done %v, done and not declared %v", verb, name, p.memory.rank,
		without(declares, does), without(does, declares))
}

// bytes lists the bytes of an operand in a memory that is not a workspace.
func (c *comparison) bytes(u unit, p touched, operand int16) (runs []byteRun) {
	for _, a := range u.accesses {
		if l := c.program.Layouts[a.Layout]; a.Operand == operand && a.Memory == p.memory.number &&
			c.program.Memories[a.Memory].Kind != issue.Workspace {
			runs = append(runs, strided(a.Offset, l.Size, l.Extents, l.Strides)...)
		}
	}
	return merged(runs)
}

// placed converts byte ranges of an allocation to byte ranges of the argument in it. The driver begins arguments at
// the start of their allocation, or at an address of the least alignment. Other memories begin where their
// allocations do.
func (c *comparison) placed(m memoryOf, call int, runs []byteRun) []byteRun {
	if m.number < 0 || len(runs) == 0 || c.program.Memories[m.number].Kind > issue.Output {
		return runs
	}
	for i := range runs {
		runs[i].begin -= c.bases[call]
		runs[i].end -= c.bases[call]
	}
	return runs
}
