package text

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// generator makes programs that use every statement of the text form except Attention and BlockLinear, and
// most attributes. Their text is valid, but they compute nothing meaningful.
type generator struct {
	on hostir.StreamRef // the stream of the statements that it makes
	*rand.Rand
	p *hostir.Program
}

func generate(seed uint64) *hostir.Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), p: &hostir.Program{Name: "made-up", File: "a spec.yaml"}}
	g.p.Params = []hostir.Param{{Name: "D", Value: 4}, {Name: "S", Value: 2}, {Name: "M", Value: -64}}
	g.p.Streams = g.IntN(5)
	g.choices()
	g.p.Auto = []*hostir.Auto{nil, {}, {Given: []string{"streams", "all.local"}}, {Basis: "1 x 2, \"3\""}}[g.IntN(4)]
	g.p.Meshes = []*domain.Mesh{
		{Name: "world", Axes: []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Text: "D", Size: 4}}}, Ranks: []int{0, 1, 2, 3}},
		{Name: "other", Axes: []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Size: 2}},
			{Name: "y", Extent: domain.Extent{Text: "S", Size: 2}}}, Ranks: []int{4, 6, 0, 1}},
	}
	for i := range 3 + g.IntN(4) {
		g.p.Tensors = append(g.p.Tensors, g.makeTensor(i))
	}
	for i := range g.IntN(4) {
		g.p.Reference = append(g.p.Reference, g.refOp(i))
	}
	const second = 1 << 32 // first seed of fallback variants
	if seed < second && seed%4 == 0 {
		g.p.Fallback = generate(seed + second)
	}
	g.views()
	g.p.Body = append([]hostir.Stmt{&hostir.Allocate{Tensor: g.p.Tensors[0]}}, g.block(3)...)
	named := map[*hostir.Tensor]bool{}
	for s := range hostir.All(g.p.Body) {
		hostir.Views(s, func(t *hostir.Tensor) { named[t] = true })
	}
	for _, t := range g.p.Tensors {
		if !named[t] {
			t.Of = nil // the text form contains only views that statements name
		}
	}
	return g.p
}

// views makes each View a view of an earlier tensor.
func (g *generator) views() {
	for i, t := range g.p.Tensors {
		if t.Role != hostir.View || i == 0 {
			continue
		}
		in := func() *hostir.Tensor { return g.p.Tensors[g.IntN(i)] }
		selects := func() *hostir.Select {
			return &hostir.Select{Info: g.info(), Out: t, In: in(), Axis: g.IntN(4), Index: g.expr(3), Parts: g.Int64N(3)}
		}
		switch g.IntN(6) {
		case 0:
			t.Of = &hostir.Broadcast{Info: g.info(), Out: t, In: in(), Axis: g.IntN(4)}
		case 1:
			t.Of = &hostir.Permute{Info: g.info(), Out: t, In: in(), Perm: g.Perm(g.IntN(4))}
		case 2:
			t.Of = &hostir.Reshape{Info: g.info(), Out: t, In: in()}
		case 3:
			t.Of = selects()
			if other := selects(); Statement(other) != Statement(t.Of) {
				hostir.ViewUnless(t, g.info(), &expr.Binary{Op: g.pick("==", "!="), X: g.expr(1), Y: g.expr(1)}, other)
			}
		default:
			t.Of = selects()
		}
	}
}

// buffer returns a tensor that is not a view.
func (g *generator) buffer() *hostir.Tensor {
	for _, t := range g.p.Tensors {
		if t.Role != hostir.View && g.IntN(2) == 0 {
			return t
		}
	}
	return g.p.Tensors[0]
}

func (g *generator) choices() {
	for _, f := range schedule.Fields {
		for _, of := range []string{"", schedule.All, "axis"} {
			if (f.Scope == schedule.Program) != (of == "") || g.IntN(3) > 0 {
				continue
			}
			value := strconv.FormatInt(f.Low+g.Int64N(f.High-f.Low+1), 10)
			if f.Values != nil || f.MeshAxis {
				value = g.pick(f.Completions()...)
			}
			g.p.Choices.Put(schedule.Choice{Of: of, Field: f.Name, Value: value, Pos: g.pos()})
		}
	}
	g.p.Choices.InterNode = g.pick("nccl", "")
}

func (g *generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g *generator) extent() domain.Extent {
	return []domain.Extent{{Size: 5}, {Text: "S", Size: 2}, {Text: "D*S", Size: 8}, {Text: "D / (S * 2)", Size: 1}}[g.IntN(4)]
}

func (g *generator) makeTensor(i int) *hostir.Tensor {
	t := &hostir.Tensor{Name: fmt.Sprintf("axis%d", i), DType: domain.DTypes[g.IntN(3)], Role: hostir.Role(g.IntN(4)), Axes: []domain.Axis{},
		Pos: g.pos()}
	if i == 0 {
		t.Name, t.Role = "axis", hostir.Input // a name that is a keyword elsewhere
	}
	for range g.IntN(5) {
		a := domain.Axis{Kind: domain.Kind(g.IntN(5)), Extent: g.extent()}
		if a.Kind == domain.Device {
			a.Mesh = g.pick("x", "y", "z")
		}
		t.Axes = append(t.Axes, a)
	}
	if g.IntN(2) == 0 {
		t.Mesh = g.p.Meshes[g.IntN(2)]
	}
	if g.IntN(2) == 0 {
		t.Layout = g.Perm(len(t.Axes))
	}
	t.Inferred = g.IntN(4) == 0
	t.Fill, t.Absent = []string{"", domain.FillMask}[g.IntN(2)], [][]int{nil, {0}}[g.IntN(2)]
	t.Rounded, t.Deviation = g.IntN(3) > 0, []float64{0, 0.0883}[g.IntN(2)]
	return t
}

func (g *generator) refOp(i int) domain.Operation {
	op := domain.Operation{Out: fmt.Sprintf("R%d", i), Whole: []string{"", "layer_norm(X, \"g\")"}[i%2], Shape: []domain.Extent{},
		DType: domain.FP16, Pos: g.pos()}
	op.Kind = g.pick("matmul", "unary", "binary", "reduce", "permute", "broadcast", "linear", "set", "slice", "concat", "positions")
	for range 1 + g.IntN(3) {
		if op.Kind == "positions" {
			break
		}
		op.In = append(op.In, g.pick("A", "perm", "axis"))
		op.Shape = append(op.Shape, g.extent())
	}
	switch op.Kind {
	case "unary", "binary":
		op.Fn = g.pick("relu", "scale(-1e-05)")
	case "reduce":
		op.Fn, op.Axis = "sum", g.IntN(3)
	case "broadcast", "concat":
		op.Axis = g.IntN(3)
	case "slice":
		op.Axis, op.Start = g.IntN(3), g.extent()
	case "permute":
		op.Perm = g.Perm(3)
	}
	return op
}

func (g *generator) pos() diag.Pos {
	return []diag.Pos{{}, {File: "a spec.yaml", Line: 3, Col: 4}, {File: "a spec.yaml", Line: 9},
		{File: "main.go", Line: 12, Col: 1}}[g.IntN(4)]
}

func (g *generator) info() hostir.Info {
	return hostir.Info{Pos: g.pos(), Note: g.pick("", "because of #5, @3:4", "For s in S:")}
}

func (g *generator) expr(depth int) expr.Expr {
	switch k := g.IntN(4); {
	case depth == 0 || k == 0:
		return []expr.Expr{expr.Int(3), expr.Var("rank"), expr.Var("s"), expr.Int(-1)}[g.IntN(4)]
	default:
		return &expr.Binary{Op: g.pick("+", "-", "*", "/", "%", "=="), X: g.expr(depth - 1), Y: g.expr(depth - 1)}
	}
}

func (g *generator) tensor() *hostir.Tensor { return g.p.Tensors[g.IntN(len(g.p.Tensors))] }

// optional returns a random tensor, or nil in half of the calls.
func (g *generator) optional() *hostir.Tensor {
	if g.IntN(2) == 0 {
		return nil
	}
	return g.tensor()
}

func (g *generator) epilogue() string {
	return []string{"", "relu", "gelu_tanh"}[g.IntN(3)]
}

func (g *generator) stream() hostir.StreamRef {
	if g.IntN(2) == 0 {
		return hostir.StreamRef{Copies: g.IntN(2) == 0}
	}
	return hostir.StreamRef{Index: g.expr(2)}
}

func (g *generator) block(depth int) []hostir.Stmt {
	var body []hostir.Stmt
	for range g.IntN(12) {
		body = append(body, g.statement(depth))
	}
	return body
}

// makers has a function for each type of statement except Attention, BlockLinear and Select. The method views makes
// the Selects. TestGeneratorMakesEveryStatement checks the number of types.
var makers []func(g *generator, depth int) hostir.Stmt

func init() { makers = statementMakers() }

func statementMakers() []func(g *generator, depth int) hostir.Stmt {
	return []func(g *generator, depth int) hostir.Stmt{
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Delay{Info: g.info(), Microseconds: 1 + g.Int64N(9)}
		},
		func(g *generator, _ int) hostir.Stmt { return &hostir.Allocate{Info: g.info(), Tensor: g.tensor()} },
		func(g *generator, _ int) hostir.Stmt { return &hostir.Deallocate{Info: g.info(), Tensor: g.tensor()} },
		func(g *generator, _ int) hostir.Stmt { return &hostir.GetCurrentStream{Info: g.info()} },
		func(g *generator, _ int) hostir.Stmt { return &hostir.Synchronize{Info: g.info(), Stream: g.stream()} },
		func(g *generator, depth int) hostir.Stmt {
			return &hostir.For{Info: g.info(), Var: "s", First: g.Int64N(2), Count: g.extent(), Body: g.block(depth)}
		},
		func(g *generator, depth int) hostir.Stmt {
			return &hostir.If{Info: g.info(), Cond: g.expr(2), Body: g.block(depth), Else: g.block(depth)}
		},
		func(g *generator, depth int) hostir.Stmt {
			return &hostir.PeerReadSum{Info: g.info(), Out: g.tensor(), In: g.tensor(), Body: g.block(depth)}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Set{Info: g.info(), Out: g.tensor(), In: g.tensor()}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Matmul{Info: g.info(), Out: g.tensor(), A: g.tensor(), B: g.tensor(), Addend: g.optional(), Then: g.epilogue(),
				OneRow: g.IntN(2) == 0}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Gather{Info: g.info(), Out: g.tensor(), Table: g.tensor(), IDs: g.tensor(), First: g.optional(), Axis: g.IntN(3),
				Batches: g.IntN(2)}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.TopK{Info: g.info(), Out: []*hostir.Tensor{g.tensor(), g.tensor()}, In: g.tensor()}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Linear{Info: g.info(), Out: g.tensor(), X: g.tensor(), W: g.tensor(), Bias: g.optional(), Addend: g.optional(),
				Then: g.epilogue(), OneRow: g.IntN(2) == 0}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Broadcast{Info: g.info(), Out: g.buffer(), In: g.tensor(), Axis: g.IntN(4)}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Permute{Info: g.info(), Out: g.buffer(), In: g.tensor(), Perm: g.Perm(g.IntN(4))}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Reshape{Info: g.info(), Out: g.buffer(), In: g.tensor()}
		},
		func(g *generator, _ int) hostir.Stmt {
			s := &hostir.Positions{Info: g.info(), Out: g.tensor()}
			if g.IntN(2) == 0 {
				s.Step = g.extent()
			}
			return s
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Slice{Info: g.info(), Out: g.buffer(), In: g.tensor(), Axis: g.IntN(4), Start: g.extent()}
		},
		func(g *generator, _ int) hostir.Stmt {
			s := &hostir.Concat{Info: g.info(), Out: g.tensor(), Axis: g.IntN(4)}
			for range 1 + g.IntN(3) {
				s.In = append(s.In, g.tensor())
			}
			return s
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Unary{Info: g.info(), Fn: g.pick("gelu", "shift(0.5)"), Out: g.tensor(), In: g.tensor()}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Binary{Info: g.info(), Fn: "add", Out: g.tensor(), A: g.tensor(), B: g.tensor()}
		},
		func(g *generator, _ int) hostir.Stmt {
			names := []string{"a", "b"}
			body, _ := domain.ParseBody("c = scale(-1e-05, a), d = sum(c), "+
				g.pick("e = mul(d, b)", "e = sum_rows(d)", "f = add(d, b), e = max_rows(f)"), names)
			s := &hostir.Fused{Info: g.info(), Kernel: "scale_sum", Out: []*hostir.Tensor{g.tensor()}, In: []*hostir.Tensor{g.tensor(), g.tensor()},
				Names: names, Body: body}
			if g.IntN(2) == 0 {
				s.Names = []string{s.In[0].Name, "b"}
			}
			if g.IntN(2) == 0 {
				s.Body[0].Also, s.Out = true, append(s.Out, g.tensor())
			}
			return s
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Cast{Info: g.info(), Out: g.tensor(), In: g.tensor()}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Reduce{Info: g.info(), Fn: "sum", Out: g.tensor(), In: g.tensor(), Axis: g.IntN(4)}
		},
		func(g *generator, _ int) hostir.Stmt { return g.communication() },
		func(g *generator, _ int) hostir.Stmt {
			s := &hostir.P2PCommunication{Info: g.info(), Handle: "send_1", Send: g.IntN(2) == 0, Buffer: g.tensor(), Peer: g.expr(3),
				Backend: g.backend(), Locality: g.locality(), Of: g.pick("A", "")}
			if s.Backend == hostir.None {
				s.Locality = hostir.AnyNode
			}
			return s
		},
		func(g *generator, _ int) hostir.Stmt { return &hostir.StartCoalescing{Info: g.info()} },
		func(g *generator, _ int) hostir.Stmt { return &hostir.EndCoalescing{Info: g.info(), Handle: "group"} },
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Wait{Info: g.info(), Handle: "gather", Iteration: nil}
		},
		func(g *generator, _ int) hostir.Stmt {
			return &hostir.Wait{Info: g.info(), Handle: "gather", Iteration: g.expr(2)}
		},
		func(g *generator, _ int) hostir.Stmt {
			s := &hostir.ShareMemHandles{Info: g.info(), Comms: []string{"send_1", "mesh"}[:1+g.IntN(2)]}
			if g.IntN(2) == 0 {
				s.Mesh, s.MeshAxis = g.p.Meshes[g.IntN(2)], g.pick("x", "y")
			}
			return s
		},
	}
}

func (g *generator) statement(depth int) hostir.Stmt {
	for {
		s := makers[g.IntN(len(makers))](g, max(depth-1, 0))
		if depth > 0 || hostir.Bodies(s) == nil {
			if g.IntN(3) == 0 {
				g.on = g.stream()
			}
			switch s.(type) {
			case *hostir.For, *hostir.If: // only the statements inside have streams
			default:
				hostir.RunOn(g.on, s)
			}
			return s
		}
	}
}

func (g *generator) locality() hostir.Locality {
	return []hostir.Locality{hostir.AnyNode, hostir.IntraNode, hostir.InterNode}[g.IntN(3)]
}

func (g *generator) backend() hostir.Backend {
	return append(backends, hostir.None)[g.IntN(len(backends)+1)]
}

func (g *generator) communication() hostir.Stmt {
	s := &hostir.Communication{
		Info: g.info(), Handle: "gather", Type: collective.Types()[g.IntN(len(collective.Types()))], Mesh: g.p.Meshes[g.IntN(2)],
		MeshAxis: g.pick("", "x", "y"), ReduceFn: g.pick("", "sum", "max"), Out: g.tensor(), In: g.tensor(), Backend: g.backend(),
	}
	if g.IntN(2) == 0 {
		s.Root = g.expr(2)
	}
	return s
}
