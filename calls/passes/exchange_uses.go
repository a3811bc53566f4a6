package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
)

// memoryUses indexes the uses of the memory that ranks share. Programs may have thousands of statements and shares, so
// passes look up uses here instead of searching the program for each of them.
type memoryUses struct {
	values   calls.Values
	ranks    []*issue.Rank // all ranks, after their run of the whole program, so that they can resolve its pointers
	buffers  map[string]*calls.Buffer
	labels   map[string]*calls.Label
	shares   map[string][]*calls.Share // by name of the memory
	memories map[string][]string       // by name of a share, of its memory, and of a declared pointer into it: the memories
	users    map[string][]int          // by memory: indices in the body of the statements that use it, increasing
	waits    map[string]int            // by share: index in the body of the last statement that waits for its flags
	launches map[string]int            // number of launches, by kernel
}

func newMemoryUses(p *calls.Program) *memoryUses {
	u := &memoryUses{
		values: p.Values(), buffers: calls.ByName(p.Buffers), labels: calls.ByName(p.Labels), shares: map[string][]*calls.Share{},
		memories: map[string][]string{}, users: map[string][]int{}, waits: map[string]int{}, launches: map[string]int{},
	}
	for _, s := range p.Shares {
		u.shares[s.Memory] = append(u.shares[s.Memory], s)
		u.memories[s.Name], u.memories[s.Memory] = []string{s.Memory}, []string{s.Memory}
	}
	for d := range calls.Each[*calls.Declare](p.Body) {
		u.memories[d.Name] = slices.Concat(u.memories[d.Value.Base], u.memories[d.Else.Base])
	}
	for i, s := range p.Body {
		switch s.(type) {
		case *calls.BeginCall, *calls.Declare:
		default:
			u.add(s, i)
		}
		for s := range calls.All(p.Body[i : i+1]) {
			switch s := s.(type) {
			case *calls.FlagWait:
				u.waits[s.Flag.Share] = i
			case *calls.Launch:
				u.launches[s.Kernel]++
			}
		}
	}
	world := issue.New(p, nil)
	for _, number := range p.Ranks() {
		rank := world.Rank(int32(number))
		rank.Run(p.Body, func(calls.Stmt) {})
		u.ranks = append(u.ranks, rank)
	}
	return u
}

// add notes that the statement s, at index at of the body, uses the memories that it mentions.
func (u *memoryUses) add(s calls.Stmt, at int) {
	note := func(name string) {
		for _, memory := range u.memories[name] {
			if i, there := slices.BinarySearch(u.users[memory], at); !there {
				u.users[memory] = slices.Insert(u.users[memory], i, at)
			}
		}
	}
	calls.RewriteAll([]calls.Stmt{s}, &calls.Rewriter{
		Noted: func(_, name string) { note(name) },
		Place: func(p calls.Pointer) calls.Pointer { note(p.Base); return p },
	})
}
