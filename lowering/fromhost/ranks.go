package fromhost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A rank runs only the statements on meshes that contain it. Statements that all ranks run, such as waits between
// streams, have no guard. The others are printed inside a condition.

// guardOf returns the guard for the ranks that run a statement; empty: all ranks. rest are the statements after s in
// its list. If s starts a group, they begin with its members.
func (b *builder) guardOf(s hostir.Stmt, rest []hostir.Stmt) string {
	if b.sum != "" {
		return "" // it is under the condition of the sum
	}
	switch s := s.(type) {
	case *hostir.Wait:
		if t := b.handles[s.Handle]; t != nil {
			return t.guard
		}
		return ""
	case *hostir.StartCoalescing:
		return b.guardOfGroup(rest)
	case *hostir.Communication:
		if s.Type == collective.SendRecv {
			return b.guardFor(hostir.Ranks(s), s.In.Mesh, s.Out.Mesh)
		}
		return b.guardFor(hostir.Ranks(s), s.Mesh)
	case *hostir.P2PCommunication:
		return b.guardFor(hostir.Ranks(s), s.Buffer.Mesh)
	case *hostir.Allocate:
		return b.guardFor(hostir.Ranks(s), s.Tensor.Mesh)
	default:
		if out := hostir.Result(s); out != nil {
			return b.guardFor(hostir.Ranks(s), out.Mesh)
		}
		return ""
	}
}

// guardOfGroup returns the common guard of a group's communications, or of the waits for them. It is empty if their
// guards differ, because the group then runs on the world's communicator.
func (b *builder) guardOfGroup(rest []hostir.Stmt) string {
	var guards []string
	members, _ := hostir.Group(rest)
	for s := range hostir.All(members) {
		switch s.(type) {
		case *hostir.Communication, *hostir.P2PCommunication, *hostir.Wait:
			guards = append(guards, b.guardOf(s, nil))
		}
	}
	if guards = slices.Compact(guards); len(guards) == 1 {
		return guards[0]
	}
	return ""
}

// guardFor returns the guard for the given ranks, which are the ranks of the given meshes; empty for all ranks. It
// declares each guard once.
func (b *builder) guardFor(ranks []int, meshes ...*domain.Mesh) string {
	if ranks == nil || len(ranks) == b.program.Meshes[0].Size() {
		return ""
	}
	key := fmt.Sprint(ranks)
	if name, ok := b.guards[key]; ok {
		return name
	}
	var labels, names []string
	for _, m := range meshes {
		labels = append(labels, m.Name)
		names = append(names, b.meshes[m])
	}
	name := b.names.Member("on_" + strings.Join(labels, "_or_"))
	b.guards[key] = name
	b.out.Guards = append(b.out.Guards, &calls.Guard{Name: name, Meshes: names})
	return name
}

// everywhere reports whether every rank has a part of a tensor.
func (b *builder) everywhere(t *hostir.Tensor) bool {
	return t.Mesh == nil || t.Mesh.Size() == b.program.Meshes[0].Size()
}

// guarded puts statements inside a branch with a guard. Declarations of pointers stay outside, so that later statements
// can use them; they are null on ranks outside of the guard.
func guarded(guard string, list []calls.Stmt) []calls.Stmt {
	if guard == "" {
		return list
	}
	var out []calls.Stmt
	for _, s := range list {
		if d, ok := s.(*calls.Declare); ok {
			d.Guard = guard
			out = append(out, d)
			continue
		}
		out = append(out, &calls.If{Guard: guard, Body: []calls.Stmt{s}})
	}
	return out
}
