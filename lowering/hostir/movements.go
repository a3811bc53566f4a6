package hostir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// A Movement summarizes a communication of a program, or equal adjacent transfers, and how much they move in a call.
type Movement struct {
	Type     collective.Type // SendRecv for transfers between two ranks
	Transfer bool            // a send and its receive (P2PCommunication), not a Communication
	Axes     string          // mesh axes along which data moves: "x and y"; empty: whole mesh, two meshes, or unknown
	Mesh     string          // name of the mesh of the ranks, or of the receivers
	From     string          // name of the mesh of the senders, if it is not Mesh; else empty
	By       string          // the backend and locality: "NCCL", "IPC-get intra-node"
	Times    int64           // runs in a call, on the rank with the most runs; summed over merged transfers
	Bytes    int64           // size of the result on one rank
	Pos      diag.Pos
	Needs    []*Need // why ranks communicate; several if equal transfers of several needs are merged
}

// Why returns the needs in words; empty without needs.
func (m Movement) Why() string {
	return strings.Join(lists.Map(m.Needs, (*Need).String), ", and ")
}

// String returns a movement in one line.
func (m Movement) String() string {
	what := string(m.Type)
	if m.Transfer {
		what = "Transfer from rank to rank"
	}
	return fmt.Sprintf("%d x %s over %s by %s, %d bytes each (%s)", m.Times, what, m.over(), m.By, m.Bytes, m.Pos)
}

// over describes the ranks that take part: "mesh axis x of world".
func (m Movement) over() string {
	switch {
	case m.From != "":
		return "meshes " + m.From + " and " + m.Mesh
	case m.Axes == "":
		return "mesh " + m.Mesh
	case strings.Contains(m.Axes, " "):
		return "mesh axes " + m.Axes + " of " + m.Mesh
	}
	return "mesh axis " + m.Axes + " of " + m.Mesh
}

// Short returns a movement in a few words, for a column: "allgather x", "sendrecv x of left", "broadcast of right", "sendrecv from
// left to right". It omits the name of the mesh after mesh axes if that name is the argument world.
func (m Movement) Short(world string) string {
	kind := m.Type.Kind()
	switch {
	case m.From != "":
		return kind + " from " + m.From + " to " + m.Mesh
	case m.Axes == "":
		return kind + " of " + m.Mesh
	case m.Mesh == world:
		return kind + " " + m.Axes
	}
	return kind + " " + m.Axes + " of " + m.Mesh
}

// Movements lists the communications of a program in order, including the transfers of each PeerReadSum. A send and its receive
// are one movement of the receiving rank. Equal adjacent transfers are one movement.
func Movements(p *Program) []Movement {
	w := &movements{program: p, exchanges: Exchanges(p), params: map[string]int64{}}
	for _, param := range p.Params {
		w.params[param.Name] = param.Value
	}
	w.list(p.Body)
	return w.found
}

type movements struct {
	program    *Program
	exchanges  map[string]*Exchange
	params     map[string]int64
	loops      []*For
	conditions []condition
	found      []Movement
}

// A condition is the Cond of an If around a statement. If not is true, the statement is in the Else branch.
type condition struct {
	holds expr.Expr
	not   bool
}

func (w *movements) list(body []Stmt) {
	for _, stmt := range body {
		switch s := stmt.(type) {
		case *For:
			w.loops = append(w.loops, s)
			w.list(s.Body)
			w.loops = w.loops[:len(w.loops)-1]
		case *If:
			w.under(condition{s.Cond, false}, s.Body)
			w.under(condition{s.Cond, true}, s.Else)
		case *PeerReadSum:
			w.list(s.Body)
		case *Communication:
			times, _ := w.count(s.Mesh, nil)
			m := Movement{Type: s.Type, Axes: s.MeshAxis, Mesh: s.Mesh.Name, By: string(s.Backend), Times: times}
			if s.Type == collective.SendRecv && !s.In.Mesh.Same(s.Out.Mesh) {
				m.Axes, m.From, m.Mesh = "", s.In.Mesh.Name, s.Out.Mesh.Name
			}
			w.add(s, m, s.Out)
		case *P2PCommunication:
			if !s.Send {
				w.transfer(s)
			}
		}
	}
}

func (w *movements) under(c condition, body []Stmt) {
	w.conditions = append(w.conditions, c)
	w.list(body)
	w.conditions = w.conditions[:len(w.conditions)-1]
}

// transfer adds the movement of a receive.
func (w *movements) transfer(s *P2PCommunication) {
	from := s.Buffer.Mesh
	if e := w.exchanges[s.Handle]; e != nil {
		from = e.Send.Buffer.Mesh
	}
	times, axes := w.count(s.Buffer.Mesh, s.Peer)
	m := Movement{
		Type: collective.SendRecv, Transfer: true, Axes: strings.Join(axes, " and "), Mesh: s.Buffer.Mesh.Name,
		By: strings.TrimSpace(string(s.Backend) + " " + string(s.Locality)), Times: times,
	}
	if !from.Same(s.Buffer.Mesh) {
		m.Axes, m.From = "", from.Name
	}
	w.add(s, m, s.Buffer)
}

// add appends a movement. If the last one is a transfer that differs at most in its count and needs, such as a step of a ring, add
// merges the two.
func (w *movements) add(s Stmt, m Movement, result *Tensor) {
	m.Bytes, m.Pos = result.DType.Size(), s.Meta().Pos
	for _, axis := range result.Axes {
		m.Bytes *= axis.LocalSize()
	}
	if last := len(w.found) - 1; last >= 0 {
		alike := w.found[last]
		alike.Times = m.Times
		if m.Transfer && alike.Transfer && alike.String() == m.String() {
			same := &w.found[last]
			same.Times += m.Times
			if need := s.Meta().Need; need != nil && !slices.Contains(same.Needs, need) {
				same.Needs = append(same.Needs, need)
			}
			return
		}
	}
	if need := s.Meta().Need; need != nil {
		m.Needs = []*Need{need}
	}
	w.found = append(w.found, m)
}

// maxIterations limits the iterations that count evaluates one by one, over all ranks. The limit of one rank is never less than
// 64.
const maxIterations = 1 << 16

// count returns how often the current statement runs in a call, on the rank of mesh that runs it most often. If the loops have too
// many iterations to evaluate, it returns their number, as if all conditions were true. It also returns the axes of mesh along
// which peer differs from the rank; none if peer is nil.
func (w *movements) count(mesh *domain.Mesh, peer expr.Expr) (most int64, axes []string) {
	all := int64(1)
	for _, l := range w.loops {
		all *= l.Count.Size - l.First
	}
	along, bound := map[string]bool{}, int64(max(64, maxIterations/len(mesh.Ranks)))
	for _, rank := range mesh.Ranks {
		values := map[string]int64{"rank": int64(rank)}
		left := bound
		times := w.iterate(w.loops, values, &left, func(value func(expr.Expr) (int64, bool)) {
			if to, ok := value(peer); peer != nil && ok {
				apart(mesh, rank, int(to), along)
			}
		})
		most = max(most, times)
	}
	if all > bound { // assume that the conditions exclude few of many iterations
		most = all
	}
	for _, axis := range mesh.Axes {
		if along[axis.Name] {
			axes = append(axes, axis.Name)
		}
	}
	return most, axes
}

// iterate calls visit in each iteration in which the conditions are true or cannot be evaluated, and counts these iterations. It
// stops after *left iterations.
func (w *movements) iterate(loops []*For, values map[string]int64, left *int64, visit func(func(expr.Expr) (int64, bool))) int64 {
	if *left <= 0 {
		return 0
	}
	if len(loops) > 0 {
		count := int64(0)
		for i := loops[0].First; i < loops[0].Count.Size && *left > 0; i++ {
			values[loops[0].Var] = i
			count += w.iterate(loops[1:], values, left, visit)
		}
		return count
	}
	*left--
	value := func(e expr.Expr) (int64, bool) {
		if e == nil {
			return 0, false
		}
		v, err := expr.Eval(e, func(name string) (int64, bool) {
			if v, ok := values[name]; ok {
				return v, true
			}
			v, ok := w.params[name]
			return v, ok
		})
		return v, err == nil
	}
	if slices.ContainsFunc(w.conditions, func(c condition) bool { v, known := value(c.holds); return known && (v != 0) == c.not }) {
		return 0
	}
	visit(value)
	return 1
}

// apart adds to along the axes of a mesh along which the ranks a and b differ. It adds none if b is not in the mesh.
func apart(mesh *domain.Mesh, a, b int, along map[string]bool) {
	if !slices.Contains(mesh.Ranks, b) {
		return
	}
	for _, axis := range mesh.Axes {
		if mesh.Coordinate(a, axis.Name) != mesh.Coordinate(b, axis.Name) {
			along[axis.Name] = true
		}
	}
}
