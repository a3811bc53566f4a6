package explain

import (
	"fmt"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/pipeline"
)

// Graph is the drawing of tasks and edges: a column for each resource, a row for each task, in the order of the
// program. Positions and sizes are in pixels.
type Graph struct {
	Width, Height int
	Lanes         []Lane
	Nodes         []Node
	Arcs          []Arc
}

// Lane is the column of a resource.
type Lane struct {
	Name string
	X    int // position of the lane's middle
}

// Node is a task.
type Node struct {
	Number int
	Name   string
	Where  string // its predicted time if it runs alone, and the loops and branches around it
	X, Y   int
	W, H   int
	TextX  int
	Line1  int // Y of its two lines of text
	Line2  int
	Moves  bool // whether it moves data between ranks
	From   []int
	In     []string // the reasons of the edges that lead to it
}

// Arc is an edge.
type Arc struct {
	Path    string
	Kind    string // "data" or "reuse"
	Later   bool   // the arc ends in a later iteration
	Reason  string
	A, B    int // numbers of the tasks at its beginning and end
	LabelX  int
	LabelY  int
	Caption string // the number of iterations later; empty if the arc ends in the same iteration
}

// The measures of the drawing.
const (
	laneWidth  = 352
	nodeWidth  = 216
	nodeHeight = 40
	rowHeight  = 56
	top        = 48 // below the names of the resources
)

// layOutGraph places tasks and edges.
func layOutGraph(g *pipeline.Graph, m *cost.Machine) Graph {
	var out Graph
	lanes := map[string]int{}
	at := map[*pipeline.Task]Node{}
	for i, t := range g.Tasks {
		name := t.Resource()
		if _, ok := lanes[name]; !ok {
			lanes[name] = len(out.Lanes)
			out.Lanes = append(out.Lanes, Lane{name, len(out.Lanes)*laneWidth + laneWidth/2})
		}
		n := Node{
			Number: t.Number(), Name: t.Name(), Where: duration(pipeline.Alone(m, t.Stmt)) + where(t), W: nodeWidth, H: nodeHeight,
			X: out.Lanes[lanes[name]].X - nodeWidth/2, Y: top + i*rowHeight, Moves: t.IsTransfer(),
		}
		n.TextX, n.Line1, n.Line2 = n.X+10, n.Y+17, n.Y+33
		if line := t.Stmt.Meta().Pos.Line; line > 0 {
			n.From = []int{line}
		}
		at[t] = n
	}
	for _, e := range g.Edges {
		from, to := at[e.From], at[e.To]
		arc := arcOf(from, to)
		arc.Kind, arc.Reason, arc.A, arc.B = e.Kind.String(), e.Reason(), from.Number, to.Number
		if later := e.Later(); later != "" {
			arc.Later, arc.Caption = true, later[len(", iterations before: "):]+" later"
		}
		out.Arcs = append(out.Arcs, arc)
		to.In = append(to.In, arc.Reason)
		at[e.To] = to
	}
	for _, t := range g.Tasks {
		out.Nodes = append(out.Nodes, at[t])
	}
	out.Width, out.Height = len(out.Lanes)*laneWidth, top+len(g.Tasks)*rowHeight
	return out
}

// where names the loops and branches around a task.
func where(t *pipeline.Task) string {
	text := ""
	for _, loop := range t.Loops {
		text += ", for " + loop.Var
	}
	for _, cond := range t.Conds {
		text += ", if " + cond.String()
	}
	return text
}

// arcOf returns the line from one task to another. In one column the line is straight from a task to the task in the next
// row, and otherwise a curve at the right of the tasks. Between columns it is a curve between the facing sides of the tasks.
func arcOf(from, to Node) Arc {
	a, b := from.Y+from.H/2, to.Y+to.H/2
	if from.X == to.X {
		side, rows := from.X+from.W, (b-a)/rowHeight
		if rows < 0 {
			rows = -rows
		}
		bulge := min(12+8*rows, (laneWidth-nodeWidth)/2+12)
		if rows == 1 && b > a {
			middle := from.X + from.W/2
			return Arc{Path: fmt.Sprintf("M%d %d L%d %d", middle, from.Y+from.H, middle, to.Y), LabelX: middle + 6, LabelY: to.Y - 4}
		}
		return Arc{
			Path:   fmt.Sprintf("M%d %d C%d %d %d %d %d %d", side, a+6, side+bulge, a+6, side+bulge, b-6, side, b-6),
			LabelX: side + bulge*3/4 + 2, LabelY: (a+b)/2 + 4,
		}
	}
	x, y := from.X+from.W, to.X
	if to.X < from.X {
		x, y = from.X, to.X+to.W
	}
	middle := (x + y) / 2
	return Arc{Path: fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x, a, middle, a, middle, b, y, b), LabelX: middle + 4, LabelY: (a + b) / 2}
}
