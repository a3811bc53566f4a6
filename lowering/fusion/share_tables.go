package fusion

import (
	"reflect"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// ShareTables computes equal tables once. A table depends on positions alone, such as the sines of a rope whose kernel
// cannot compute them itself. Statements that read a later table read the first equal one instead:
//
//	p = Positions(); a = Unary(sin, p); Y = Binary(mul, X, a); q = Positions(); b = Unary(sin, q); Z = Binary(mul, X, b)
//
// becomes
//
//	p = Positions(); a = Unary(sin, p); Y = Binary(mul, X, a); Z = Binary(mul, X, a)
//
// Requires: tensors are whole (before lower-streams); FuseElementwise has run.
func ShareTables(p *hostir.Program) error {
	var tables []hostir.Stmt
	made, first := map[*hostir.Tensor]bool{}, map[*hostir.Tensor]*hostir.Tensor{}
	p.Body = slices.DeleteFunc(p.Body, func(s hostir.Stmt) bool {
		for inner := range hostir.All([]hostir.Stmt{s}) {
			hostir.SubstituteUses(inner, hostir.ByMap(first))
		}
		if !makesTable(s, made) {
			return false
		}
		if at := slices.IndexFunc(tables, func(t hostir.Stmt) bool { return sameTable(t, s) }); at >= 0 {
			for i, t := range hostir.Defs(s) {
				first[t] = hostir.Defs(tables[at])[i]
			}
			return true
		}
		tables = append(tables, s)
		lists.Mark(made, hostir.Defs(s))
		return false
	})
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t *hostir.Tensor) bool { return first[t] != nil })
	return nil
}

// makesTable reports whether a statement computes Temps or views from positions and the tables in made alone.
func makesTable(s hostir.Stmt, made map[*hostir.Tensor]bool) bool {
	return unnamed(s) != nil && lists.AllIn(hostir.Uses(s), made) &&
		!slices.ContainsFunc(hostir.Defs(s), func(t *hostir.Tensor) bool { return t.Role != hostir.Temp && t.Role != hostir.View })
}

// sameTable reports whether two statements compute the same values into tensors that differ only in name.
func sameTable(a, b hostir.Stmt) bool {
	return reflect.DeepEqual(unnamed(a), unnamed(b)) && slices.EqualFunc(hostir.Defs(a), hostir.Defs(b), func(x, y *hostir.Tensor) bool {
		return x.DType == y.DType && x.Mesh == y.Mesh && slices.Equal(x.Axes, y.Axes) && slices.Equal(hostir.Layout(x), hostir.Layout(y))
	})
}

// unnamed returns a copy of a statement without results and names. It returns nil for types of statements that compute
// no tables.
func unnamed(s hostir.Stmt) hostir.Stmt {
	switch s := s.(type) {
	case *hostir.Positions:
		return &hostir.Positions{Step: s.Step}
	case *hostir.Broadcast:
		return &hostir.Broadcast{In: s.In, Axis: s.Axis}
	case *hostir.Reshape:
		return &hostir.Reshape{In: s.In}
	case *hostir.Cast:
		return &hostir.Cast{In: s.In}
	case *hostir.Unary:
		return &hostir.Unary{Fn: s.Fn, In: s.In}
	case *hostir.Binary:
		return &hostir.Binary{Fn: s.Fn, A: s.A, B: s.B}
	case *hostir.Fused:
		body := slices.Clone(s.Body)
		for i := range body {
			body[i].Name = ""
		}
		return &hostir.Fused{In: s.In, Body: body}
	}
	return nil
}
