package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// mostJoinedBytes is the largest number of bytes that one kernel copies. Copies of 4 MB take about as long as a node of a
// CUDA graph takes to start (cost/machines). With more bytes a kernel gains little, and a cudaMemcpyAsync may leave the SMs
// to other work.
const mostJoinedBytes = 4 << 20

// joinCopies lets one kernel make adjacent copies within a rank, such as the copies of a concat. Each cudaMemcpyAsync, also
// as a node of a CUDA graph, takes more than a microsecond to start. The copies have one stream, with only declarations of
// names between them, and the pass moves these declarations before the kernel.
//
//	Memcpy(out row_, in w, elements H, on caller)           MemOpBatch(name copies, use memcpy, kernel, on caller):
//	Memcpy(out row_ + H, in b, elements O, on caller)   ->    Memcpy(out row_, in w, elements H, batch copies)
//	                                                          Memcpy(out row_ + H, in b, elements O, batch copies)
//
// The copies of a kernel run at the same time. So on every rank, no copy may write bytes that another copy reads or
// writes. Copies to or from peers stay, because copy engines make them.
func joinCopies(p *calls.Program) {
	j := &copyJoiner{names: taken(p), bytes: map[*calls.Memcpy]int64{}, apart: map[[2]*calls.Memcpy]bool{},
		labels: map[*calls.MemOpBatch][]string{}}
	copies := calls.Is[*calls.Memcpy]
	moving := lists.Except(p.Body, func(s calls.Stmt) bool {
		return !namesOnly(s) && !calls.Any([]calls.Stmt{s}, copies)
	})
	if !calls.Any(moving, copies) {
		return
	}
	world := issue.New(p, nil)
	for _, number := range p.Ranks() {
		j.recent, j.rank = nil, world.Rank(int32(number))
		j.rank.Run(moving, j.visit)
	}
	p.Body = calls.EditLists(p.Body, j.list)
	nameBatches(p, j.labels)
}

// copyJoiner finds the copies of a program that kernels can make together.
type copyJoiner struct {
	names  *names.Table
	rank   *issue.Rank
	recent []placedCopy                   // the last copies that this rank issued with nothing between them
	bytes  map[*calls.Memcpy]int64        // the most bytes on any rank; larger than mostJoinedBytes if the copy stays
	apart  map[[2]*calls.Memcpy]bool      // adjacent copies that may not run at the same time, in the order of issue
	labels map[*calls.MemOpBatch][]string // the labels of the copies in the batch
}

// placedCopy is a copy with the memory that it accesses on a rank.
type placedCopy struct {
	copy    *calls.Memcpy
	out, in issue.Place
	bytes   int64
}

// visit compares a copy with the copies that were issued just before it.
func (j *copyJoiner) visit(s calls.Stmt) {
	c, ok := s.(*calls.Memcpy)
	if !ok {
		j.recent = nil
		return
	}
	out, written := j.rank.At(c, c.Out)
	in, read := j.rank.At(c, c.In)
	elements, known := j.rank.Value(c, c.Elements)
	bytes := elements * c.Type.Size()
	if !written || !read || !known || out.Owner != j.rank.Number || in.Owner != j.rank.Number {
		bytes = mostJoinedBytes + 1
	}
	j.bytes[c] = max(j.bytes[c], bytes)
	placed := placedCopy{c, out, in, bytes}
	for _, before := range j.recent {
		if placed.clashes(&before) {
			j.apart[[2]*calls.Memcpy{before.copy, c}] = true
		}
	}
	if j.recent = append(j.recent, placed); len(j.recent) == calls.MostCopies {
		j.recent = j.recent[1:]
	}
}

// clashes reports whether one of two copies writes bytes that the other copy reads or writes.
func (c *placedCopy) clashes(other *placedCopy) bool {
	meet := func(a issue.Place, b issue.Place) bool {
		return a.Memory == b.Memory && a.Offset < b.Offset+other.bytes && b.Offset < a.Offset+c.bytes
	}
	return meet(c.out, other.out) || meet(c.out, other.in) || meet(c.in, other.out)
}

// list replaces runs of copies in a list of statements by batches.
func (j *copyJoiner) list(list []calls.Stmt) (out []calls.Stmt) {
	var run []*calls.Memcpy
	var declared []calls.Stmt // after the last copy of the run
	end := func() {
		if len(run) == 1 {
			out = append(out, run[0])
		} else if len(run) > 1 {
			out = append(out, j.batch(run))
		}
		out = append(out, declared...)
		run, declared = nil, nil
	}
	for _, s := range list {
		c, copies := s.(*calls.Memcpy)
		switch {
		case namesOnly(s):
			declared = append(declared, s)
		case copies && j.joins(run, c):
			out, declared = append(out, declared...), nil
			run = append(run, c)
		default:
			if end(); copies {
				run = append(run, c)
			} else {
				out = append(out, s)
			}
		}
	}
	end()
	return out
}

// namesOnly reports whether a statement only names a number or a pointer.
func namesOnly(s calls.Stmt) bool {
	switch s.(type) {
	case *calls.Let, *calls.Declare:
		return true
	}
	return false
}

// joins reports whether the kernel that makes the copies of a run can also make another copy.
func (j *copyJoiner) joins(run []*calls.Memcpy, c *calls.Memcpy) bool {
	total, known := j.bytes[c]
	for _, other := range run {
		bytes, found := j.bytes[other]
		total += bytes
		known = known && found && other.Batch == "" && other.On.String() == c.On.String() && !j.apart[[2]*calls.Memcpy{other, c}]
	}
	return known && c.Batch == "" && 0 < len(run) && len(run) < calls.MostCopies && total <= mostJoinedBytes
}

// batch makes the copies of a run the parts of one kernel, which has the position and the label of the first copy.
func (j *copyJoiner) batch(run []*calls.Memcpy) *calls.MemOpBatch {
	batch := &calls.MemOpBatch{Info: run[0].Info, Name: j.names.Local("copies"), Use: "memcpy", Kernel: true, On: run[0].On}
	run[0].Note = ""
	for _, c := range run {
		if !slices.Contains(j.labels[batch], c.Label) {
			j.labels[batch] = append(j.labels[batch], c.Label)
		}
		c.Label, c.On, c.Batch = "", calls.Stream{}, batch.Name
		batch.Body = append(batch.Body, c)
	}
	return batch
}
