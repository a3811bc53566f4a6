package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// The emitted program declares names for peer ranks, and for slice indices that are long or occur more than once:
// `const int64_t to = (rank + s) % D;`. The declaration is at the start of the innermost loop whose variable the
// expression contains, or of run() if there is no such loop.

// A repeated is an expression that depends on the rank, and that statements of one loop contain.
type repeated struct {
	value          expr.Expr
	key            string // the text of the value, without the names of other repeats
	peer           *peer  // for a rank that is looked up in the mesh; nil: the value is printed
	axis           string // for the coordinate of a peer: its mesh axis, which its name contains; otherwise empty
	count          int    // lower bound of the number of occurrences
	sent, received bool   // the value is the peer of a send, of a receive
	want, name     string
	used           bool
}

// longest is the largest number of characters of an expression that occurs once and gets no name.
const longest = 40

// nameRepeats assigns names to the repeats of a loop or, if variable is empty, of run(): to peer ranks, and to other
// expressions that occur more than once or are longer than longest.
func (b *builder) nameRepeats(body []hostir.Stmt, variable string) {
	c := &repeats{b: b, variable: variable, views: map[*hostir.Tensor]bool{}}
	c.find(body, nil)
	c.arrived()
	for _, r := range c.list {
		if isRank := (r.sent || r.received) && r.axis == ""; isRank || r.count > 1 || len(r.key) > longest {
			r.want = r.role()
			r.name = b.names.Local(r.want)
			b.named = append(b.named, r)
		}
	}
}

// endRepeats ends the scope of the innermost repeats, until keep repeats are left, and returns declarations of those
// that were used. A declaration may use the names of earlier repeats.
func (b *builder) endRepeats(keep int) []calls.Stmt {
	var list []calls.Stmt
	for len(b.named) > keep {
		r := b.named[len(b.named)-1]
		b.named = b.named[:len(b.named)-1]
		if r.used {
			list = append(list, b.spellRepeat(r))
		}
		b.names.Release(r.want, r.name)
	}
	slices.Reverse(list)
	return list
}

// spellRepeat returns the declaration of a repeat's name.
func (b *builder) spellRepeat(r *repeated) calls.Stmt {
	if r.peer == nil {
		return &calls.Let{Name: r.name, Value: b.spelled(r.value)}
	}
	return &calls.Let{Name: r.name, Mesh: b.meshes[r.peer.mesh], Axis: int64(r.peer.axis), At: b.spelled(r.peer.coordinate)}
}

// role returns the base of a repeat's name: "to", "from", "partner" or "slice", with the axis of a coordinate.
func (r *repeated) role() string {
	role := "slice"
	switch {
	case r.sent && r.received:
		role = "partner"
	case r.sent:
		role = "to"
	case r.received:
		role = "from"
	}
	if r.axis != "" {
		role += "_" + r.axis
	}
	return role
}

// repeats finds the repeats of one loop.
type repeats struct {
	b        *builder
	variable string // of the loop; empty outside of all loops
	list     []*repeated
	views    map[*hostir.Tensor]bool // views whose indices were counted
	waits    []*hostir.Exchange      // exchanges whose received data the loop waits for
}

// find searches statements for repeats. inner are the variables of the loops between c's loop and the statements.
func (c *repeats) find(body []hostir.Stmt, inner []string) {
	for _, s := range body {
		hostir.Views(s, func(t *hostir.Tensor) {
			if of, selects := t.Of.(*hostir.Select); selects && !c.views[t] {
				c.views[t] = true
				c.add(c.b.indexOf(of), inner)
			}
		})
		switch s := s.(type) {
		case *hostir.P2PCommunication:
			c.addPeer(s, inner)
		case *hostir.Wait:
			if t := c.b.limited[s.Handle]; t != nil && s.Iteration == nil {
				c.addPeer(t, inner)
			} else if e := c.b.pairs[s.Handle]; e != nil && s.Iteration == nil && e.Recv.Handle == s.Handle {
				c.waits = append(c.waits, e)
			}
		}
		within := inner
		if loop, ok := s.(*hostir.For); ok {
			if loop.Var == c.variable {
				continue // another variable of the same name
			}
			within = append(slices.Clone(inner), loop.Var)
		}
		for _, list := range hostir.Bodies(s) {
			c.find(*list, within)
		}
	}
}

// addPeer counts the peer of a transfer, and its coordinate if the peer is looked up in the mesh.
func (c *repeats) addPeer(s *hostir.P2PCommunication, inner []string) {
	p := c.b.peerOf(s)
	if p.asked {
		if r := c.add(p.coordinate, inner); r != nil {
			r.axis = p.mesh.Axes[p.axis].Name
			c.role(r, s)
		}
	}
	if r := c.add(p.rank, inner); r != nil {
		c.role(r, s)
		if p.asked {
			r.peer = &p
		}
	}
}

// arrived sets received for the peer ranks whose data the loop waits for.
func (c *repeats) arrived() {
	for _, e := range c.waits {
		key := c.b.peerOf(e.Recv).rank.String()
		for _, r := range c.list {
			r.received = r.received || r.key == key
		}
	}
}

func (c *repeats) role(r *repeated, s *hostir.P2PCommunication) {
	r.sent, r.received = r.sent || s.Send, r.received || !s.Send
}

// add counts an expression with an operator, if it depends on the rank and on the loop's variable, but not on inner
// variables. Otherwise it returns nil.
func (c *repeats) add(e expr.Expr, inner []string) *repeated {
	if _, ok := e.(*expr.Binary); !ok || !c.b.ofRank(e) || c.variable != "" && !expr.Mentions(e, c.b.scope.Names[c.variable]) {
		return nil
	}
	if slices.ContainsFunc(inner, func(name string) bool { return expr.Mentions(e, name) }) {
		return nil
	}
	key := e.String()
	i := slices.IndexFunc(c.list, func(r *repeated) bool { return r.key == key })
	if i < 0 {
		i = len(c.list)
		c.list = append(c.list, &repeated{value: e, key: key})
	}
	c.list[i].count++
	return c.list[i]
}

// ofRank reports whether an expression contains the rank or a coordinate of the rank.
func (b *builder) ofRank(e expr.Expr) bool {
	return expr.Mentions(e, "rank") || slices.ContainsFunc(b.along, func(p *coordinate) bool { return expr.Mentions(e, p.name) })
}

// spelled replaces parts of an expression by the names of repeats. It marks them, and coordinates in the expression, as
// used.
func (b *builder) spelled(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(part expr.Expr) expr.Expr {
		switch part := part.(type) {
		case expr.Var:
			for _, p := range b.along {
				p.used = p.used || p.name == string(part)
			}
		case *expr.Binary:
			if len(b.named) > 0 {
				return b.repeat(part.String())
			}
		}
		return nil
	})
}

// repeat returns the name of a repeat with the given text; nil if there is none.
func (b *builder) repeat(key string) expr.Expr {
	for _, r := range slices.Backward(b.named) {
		if r.key == key {
			r.used = true
			return expr.Var(r.name)
		}
	}
	return nil
}

// index translates an expression of the host program to names of the calls.
func (b *builder) index(e expr.Expr) expr.Expr { return b.spelled(b.scope.Rename(expr.Fold(e))) }
