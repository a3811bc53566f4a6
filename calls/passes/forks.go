package passes

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
)

// mostBeside is the largest number of elements in the results of GEMMs that run at the same time. They are half as many
// tiles of 128 x 128 elements as a large GPU has SMs. With more elements, one GEMM fills the GPU, and two together are no
// faster (docs/design/gemms-of-one-operand.md). GEMMs of up to fewRows rows do not count, since they wait for memory.
const mostBeside = 66 * 128 * 128

// fewRows is the largest number of rows with which the time of a GEMM is the time to read its weights.
const fewRows = 128

// mostOfFork is the largest number of statements of a fork. Longer branches would keep more memory, and take longer to find.
const mostOfFork = 32

// mostBranches is the largest number of branches of a fork: the caller's stream and the compute streams.
const mostBranches = 4

// forker finds the forks of a program.
type forker struct {
	program      *calls.Program
	effects      *effects.Table
	values       calls.Values
	shapes       map[string]*calls.Shape
	names        map[string][]string // the memory of buffers in other memory, and of declared pointers; empty: unknown
	begin, end   *calls.Events
	forks, joins int
}

// fork has statements at the beginning of a list that can run in branches. Branch 0 is on the caller's stream.
type fork struct {
	of       []int // the branch of each statement; -1: it only names something
	branches []branch
	elements int64 // in the results of its GEMMs
}

// branch has the memory that the statements of a branch access, and the number of its GEMMs.
type branch struct {
	read, written map[string]bool
	gemms         int
}

// hidden returns the number of GEMMs that run while another branch, the one with most GEMMs, does.
func (f *fork) hidden() int {
	all, most := 0, 0
	for _, b := range f.branches {
		all, most = all+b.gemms, max(most, b.gemms)
	}
	return all - most
}

// best returns the longest fork at the beginning of a list. It returns none if a fork that begins at one of its later
// statements hides at least two more GEMMs: projections of a projection belong side by side, not into one branch.
func (b *forker) best(list []calls.Stmt) fork {
	f := b.forkAt(list)
	for i := 1; i < len(f.of) && len(f.branches) > 1; i++ {
		if later := b.forkAt(list[i:]); later.hidden() > f.hidden()+1 {
			return fork{}
		}
	}
	return f
}

// memory lists the memory where a pointer may point. It is empty if that may be memory of another rank.
func (b *forker) memory(at calls.Pointer) []string {
	if at.Peer != nil {
		return nil
	}
	inner, known := b.names[at.Base]
	if !known {
		return []string{at.Base}
	}
	var list []string
	for _, name := range inner {
		list = append(list, b.memory(calls.Pointer{Base: name})...)
	}
	return list
}

// forkAt returns the longest fork at the beginning of a list. With less than two branches, it is none.
func (b *forker) forkAt(list []calls.Stmt) fork {
	var f fork
	for _, s := range list[:min(len(list), mostOfFork)] {
		if namesOnly(s) && len(f.of) > 0 {
			f.of = append(f.of, -1)
			continue
		}
		elements, isGemm := b.elements(s)
		access, known := b.access(s)
		if !known || f.elements+elements > mostBeside || len(f.branches) == 0 && !isGemm {
			break
		}
		at, one := f.branchOf(access)
		if !one || at == len(f.branches) && len(f.branches) == mostBranches {
			break
		}
		if at == len(f.branches) && !isGemm {
			at = 0
		}
		f.add(at, access)
		f.elements += elements
	}
	for len(f.of) > 0 && f.of[len(f.of)-1] < 0 {
		f.of = f.of[:len(f.of)-1]
	}
	return f
}

// elements returns the number of elements in the result of a GEMM, or 0 if it has few rows.
func (b *forker) elements(s calls.Stmt) (elements int64, isGemm bool) {
	g, isGemm := s.(*calls.Gemm)
	if !isGemm {
		return 0, false
	}
	size := b.shapes[g.Shape].Problem(b.values)
	if size.M*size.Batch <= fewRows {
		return 0, true
	}
	return size.M * size.N * size.Batch, true
}

// access returns the memory that a GEMM or a kernel on the caller's stream accesses. known is false for other statements,
// and if it accesses memory of other ranks.
func (b *forker) access(s calls.Stmt) (access branch, known bool) {
	on := onOf(s)
	if l, ok := s.(*calls.Launch); on == nil || *on != (calls.Stream{Name: calls.Caller}) || ok && l.Batch != "" {
		return access, false
	}
	operands, err := b.effects.Of(s)
	if err != nil {
		return access, false
	}
	access = branch{read: map[string]bool{}, written: map[string]bool{}}
	if _, isGemm := s.(*calls.Gemm); isGemm {
		access.gemms = 1
	}
	for _, o := range operands {
		if o.At.Base == "" {
			continue
		}
		memory := b.memory(o.At)
		if len(memory) == 0 {
			return access, false
		}
		for _, name := range memory {
			if o.Write {
				access.written[name] = true
			} else {
				access.read[name] = true
			}
		}
	}
	return access, true
}

// onOf returns the stream of a GEMM or a kernel, and nil for other statements.
func onOf(s calls.Stmt) *calls.Stream {
	switch s := s.(type) {
	case *calls.Gemm:
		return &s.On
	case *calls.Launch:
		return &s.On
	}
	return nil
}

// branchOf returns the branch that a statement with these accesses needs, or the number of branches if it needs none. one
// is false if it needs several.
func (f *fork) branchOf(access branch) (at int, one bool) {
	at, one = len(f.branches), true
	for i, b := range f.branches {
		if meet(b.written, access.read) || meet(b.written, access.written) || meet(b.read, access.written) {
			one = at == len(f.branches)
			at = min(at, i)
			if !one {
				break
			}
		}
	}
	return at, one
}

// meet reports whether two sets have a common element.
func meet(a, b map[string]bool) bool {
	for name := range a {
		if b[name] {
			return true
		}
	}
	return false
}

// add adds a statement to a branch, which may be new.
func (f *fork) add(at int, access branch) {
	f.of = append(f.of, at)
	if at == len(f.branches) {
		f.branches = append(f.branches, access)
		return
	}
	f.branches[at].gemms += access.gemms
	for name := range access.read {
		f.branches[at].read[name] = true
	}
	for name := range access.written {
		f.branches[at].written[name] = true
	}
}
