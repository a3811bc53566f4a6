package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A rank runs the statements of the meshes that it is in. What the others run with it, such
// as the order of streams, is printed plainly; around the rest stands a condition.

type (
	// guardMember tells whether this rank is in one of some meshes.
	guardMember struct{ Name, Condition string }
	// guardNode is statements that some ranks run.
	guardNode struct {
		Guard string // member
		Body  []node
	}
)

func (*guardMember) template() string { return "member/guard" }
func (*guardNode) template() string   { return "stmt/guard" }

// guardOf is the member that tells whether this rank runs a statement, empty when all do.
// What follows in its list is what a group starts.
func (b *builder) guardOf(s hostir.Stmt, rest []hostir.Stmt) string {
	if b.reduction != "" {
		return "" // it stands under the condition of the sum
	}
	switch s := s.(type) {
	case *hostir.Wait:
		if t := b.handles[s.Handle]; t != nil {
			return t.guard
		}
		return ""
	case *hostir.StartCoalescing:
		return b.guardOfGroup(rest)
	case *hostir.EndCoalescing:
		switch {
		case b.group != nil:
			return b.group.guard
		case b.signals != nil:
			return b.signals.guard
		}
		return ""
	case *hostir.Communication:
		if s.Type == hostir.SendRecv {
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

// guardOfGroup is that of all of the group's communications, or of the waits for them; empty
// when they differ, since ranks then meet in the world.
func (b *builder) guardOfGroup(rest []hostir.Stmt) string {
	var guards []string
	members, _ := hostir.Group(rest)
	hostir.Walk(members, func(s hostir.Stmt) bool {
		switch s.(type) {
		case *hostir.Communication, *hostir.P2PCommunication, *hostir.Wait:
			guards = append(guards, b.guardOf(s, nil))
		}
		return true
	})
	if guards = slices.Compact(guards); len(guards) == 1 {
		return guards[0]
	}
	return ""
}

// guardFor declares the member for some ranks, those of the meshes, once.
func (b *builder) guardFor(ranks []int, meshes ...*domain.Mesh) string {
	if ranks == nil || len(ranks) == b.program.Meshes[0].Size() {
		return ""
	}
	key := fmt.Sprint(ranks)
	if name, ok := b.guards[key]; ok {
		return name
	}
	var labels, conditions []string
	for _, m := range meshes {
		labels = append(labels, m.Name)
		conditions = append(conditions, b.meshes[m]+".holds(context_.rank())")
	}
	name := b.names.member("on_" + strings.Join(labels, "_or_"))
	b.guards[key] = name
	b.view.Guards = append(b.view.Guards, &guardMember{name, strings.Join(conditions, " || ")})
	return name
}

// everywhere reports whether every rank has a part of a tensor.
func (b *builder) everywhere(t *hostir.Tensor) bool {
	return t.Mesh == nil || t.Mesh.Size() == b.program.Meshes[0].Size()
}

// onMesh says in words where a tensor is that only some ranks have.
func (b *builder) onMesh(t *hostir.Tensor) string {
	if b.everywhere(t) {
		return ""
	}
	return " on mesh " + t.Mesh.Name
}

// present tells, for the description of a tensor, whether a rank has a part of it; empty
// when every rank has.
func (b *builder) present(t *hostir.Tensor) string {
	if b.everywhere(t) {
		return ""
	}
	b.view.UsesRank = true
	return b.meshes[t.Mesh] + ".holds(rank)"
}

// guarded puts a statement's nodes under its condition. Declarations stay outside, where
// what follows sees them: elsewhere they are null pointers.
func guarded(guard string, nodes []node) []node {
	if guard == "" {
		return nodes
	}
	var list []node
	for _, n := range nodes {
		switch n := n.(type) {
		case *viewNode:
			n.Guard = guard
		case *bufferNode:
			n.Guard = guard
		case *keepNode, *flagGroupNode:
		default:
			list = append(list, &guardNode{guard, []node{n}})
			continue
		}
		list = append(list, n)
	}
	return list
}

// mergeGuards makes one block of adjacent statements under the same condition.
func mergeGuards(nodes []node) []node {
	var merged []node
	for _, n := range nodes {
		next, ok := n.(*guardNode)
		if ok && len(merged) > 0 {
			if last, ok := merged[len(merged)-1].(*guardNode); ok && last.Guard == next.Guard {
				last.Body = append(last.Body, next.Body...)
				continue
			}
		}
		merged = append(merged, n)
	}
	return merged
}

// covers reports whether every rank of inner is one of outer.
func covers(outer, inner *domain.Mesh) bool {
	return !slices.ContainsFunc(inner.Ranks, func(r int) bool { return !slices.Contains(outer.Ranks, r) })
}
