package place

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// rewriter writes a program in which each statement is local to a rank or one change of a placement.
type rewriter struct {
	*graph
	program *hostir.Program
	spec    *hostir.Spec
	names   *hostir.Namer
	body    []hostir.Stmt
	first   int            // the index in body of the first statement of the current operation
	from    hostir.Stmt    // the current operation, in the old body
	of      *hostir.Tensor // the tensor of the old program of which the rewriter makes a form
	made    map[*hostir.Tensor]map[Placements]form
	named   map[*hostir.Tensor]bool // whether a form has the name of the tensor
	parent  map[node]node           // the node from which a node is made
}

// rewrite replaces the body by one with the chosen placements, and removes Temps that it does not use.
func (g *graph) rewrite(p *hostir.Program, chosen []int) {
	r := &rewriter{
		graph: g, program: p, spec: hostir.SpecOf(p), names: hostir.NewNamer(p), made: map[*hostir.Tensor]map[Placements]form{},
		named: map[*hostir.Tensor]bool{}, parent: map[node]node{},
	}
	s := g.begin()
	for t := range g.forms {
		if _, made := g.fns[t]; !made {
			r.keep(t, r.fixed[t], form{t, dimsOf(t)})
		}
	}
	for i := range g.body {
		s = g.next(s, i, chosen[i])
		for _, t := range s.trees {
			for _, e := range t.edges {
				r.parent[e.to] = e.from
			}
		}
	}
	for i, s := range g.body {
		switch {
		case g.foreign[s]:
			r.body = append(r.body, s)
		case len(g.defs[i]) > 0: // no view
			r.from, r.first = s, len(r.body)
			r.operation(s, g.choices[i][chosen[i]])
		}
	}
	p.Body = r.body
	used := map[*hostir.Tensor]bool{}
	for s := range hostir.All(p.Body) {
		lists.Mark(used, hostir.Mentions(s))
	}
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t *hostir.Tensor) bool { return t.Role == hostir.Temp && !used[t] })
}

// info returns the Info of a new statement of the current operation.
func (r *rewriter) info(note string) hostir.Info { return hostir.InfoFrom(r.from, note) }

// moves returns the Info of a communication, with its Need. Package shard sets the By of the Need later, from the finished program.
func (r *rewriter) moves(s step, note string) hostir.Info {
	name, info := r.spec.Name(nil, r.of), r.info(note)
	info.Need = &hostir.Need{
		Tensor: name, Axis: r.mesh.Axes[s.mesh].Name, Fn: r.fns[r.of],
		From: r.spec.Axis(name, r.of, int(s.from)), To: r.spec.Axis(name, r.of, int(s.to)),
	}
	return info
}

// add declares a Temp with the element type of like, appends the statement that write returns for it, and returns it as a form. The
// name is the name of r.of with the suffix, or a fresh name if that is taken. A tensor that the spec places has the suffix "_part" if
// suffix is empty.
func (r *rewriter) add(like form, suffix string, dims []dim, write func(out *hostir.Tensor) hostir.Stmt) form {
	if _, fixed := r.fixed[r.of]; fixed && suffix == "" {
		suffix = "_part"
	}
	name := r.of.Name + suffix
	if suffix != "" || r.named[r.of] {
		name = r.names.Fresh(name)
	}
	r.named[r.of] = r.named[r.of] || suffix == ""
	out := &hostir.Tensor{
		Name: name, DType: like.tensor.DType, Axes: axesOf(dims), Mesh: r.mesh,
		Role: hostir.Temp, Inferred: true, Pos: r.of.Pos,
	}
	r.program.Tensors = append(r.program.Tensors, out)
	r.body = append(r.body, write(out))
	return form{out, dims}
}

// keep records the form of a tensor in a placement.
func (r *rewriter) keep(t *hostir.Tensor, at Placements, f form) {
	if r.made[t] == nil {
		r.made[t] = map[Placements]form{}
	}
	r.made[t][at] = f
}

// read returns a tensor in a placement. It writes the views and changes by which the trees of the search make it.
func (r *rewriter) read(n node) form {
	t, at := n.of.tensor, n.of.list[n.at]
	if r.has(t, at) {
		return r.made[t][at]
	}
	p := r.parent[n]
	f := r.read(p)
	if p.of == n.of {
		r.of = t
		return r.changed(t, p.of.list[p.at], at)
	}
	v, from := r.views[t], r.from
	way := slices.IndexFunc(n.of.ways, func(c choice) bool { return c.reads[0] == p.at && c.makes[0] == n.at })
	r.of, r.from = t, v.stmt
	f = r.written(v.stmt, []form{f}, n.of.ways[way])[0]
	r.keep(t, at, f)
	r.from = from
	return f
}

// changed returns a tensor in placement to, from its form in placement from. It writes only steps whose results do not exist yet.
func (r *rewriter) changed(t *hostir.Tensor, from, to Placements) form {
	f := r.made[t][from]
	list, _ := steps(from, to)
	for _, s := range list {
		if from = from.with(s.mesh, s.to); r.has(t, from) {
			f = r.made[t][from]
			continue
		}
		f = r.step(f, s)
		r.keep(t, from, f)
	}
	return f
}

func (r *rewriter) has(t *hostir.Tensor, at Placements) bool {
	_, has := r.made[t][at]
	return has
}

// step writes one step: a communication, or a Set in which each rank takes its block of a whole tensor. A gather, or a
// move from axis to axis, gives each rank all blocks of an axis; step then merges them into one dim.
func (r *rewriter) step(f form, s step) form {
	over := r.mesh.Axes[s.mesh]
	if s.to.splits() {
		f = r.cut(f, int(s.to), over)
	}
	at := slices.IndexFunc(f.dims, func(d dim) bool { return d.ranks == over.Name && d.split() })
	dims := slices.Clone(f.dims)
	for i, d := range dims {
		if d.ranks == over.Name {
			dims[i].whole = !d.whole
		}
	}
	if s.from == Partial {
		fn := r.fns[r.of]
		return r.add(f, "", slices.Delete(dims, at, at+1), func(out *hostir.Tensor) hostir.Stmt {
			return &hostir.Reduce{Info: r.moves(s, "the parts of all ranks"), Fn: fn, Out: out, In: f.tensor, Axis: at}
		})
	}
	reader := r.spec.Operation(r.from)
	suffix, info := "_part", r.info(reader+" reads this rank's part only")
	switch {
	case s.from.splits() && s.to.splits():
		suffix, info = "_all", r.moves(s, "split along another axis, as "+reader+" reads it")
	case s.from.splits():
		suffix, info = "_all", r.moves(s, "gathered, since "+reader+" reads the parts of all ranks")
	}
	f = r.add(f, suffix, dims, func(out *hostir.Tensor) hostir.Stmt {
		out.Inferred = false // its axes stay, or it would be split like its operand
		return &hostir.Set{Info: info, Out: out, In: f.tensor}
	})
	if s.from.splits() {
		f = r.joined(f, int(s.from))
	}
	return f
}

// operation writes a statement with its operands and results in the chosen placements.
func (r *rewriter) operation(s hostir.Stmt, c choice) {
	operands := make([]form, len(c.in))
	for k, t := range hostir.Uses(s) {
		operands[k] = r.read(node{r.forms[t], c.reads[k]})
	}
	r.of = hostir.Result(s)
	made := r.written(s, operands, c)
	for k, t := range hostir.Defs(s) {
		r.of = t
		r.keep(t, c.out[k], made[k])
		want, fixed := r.fixed[t]
		if !fixed {
			continue
		}
		f := r.changed(t, c.out[k], want)
		delete(r.made, t)
		r.deliver(t, f)
		r.keep(t, want, form{t, dimsOf(t)})
	}
}

// deliver makes the declared tensor t from a form. If statements of the current operation make the form, they make t
// instead. Otherwise deliver appends a copy.
func (r *rewriter) deliver(t *hostir.Tensor, f form) {
	f = r.arranged(f, dimsOf(t))
	fresh := slices.IndexFunc(r.body[r.first:], func(s hostir.Stmt) bool { return slices.Contains(hostir.Defs(s), f.tensor) })
	if fresh < 0 {
		r.body = append(r.body, &hostir.Set{Info: r.info(""), Out: t, In: f.tensor})
		return
	}
	t.Inferred = t.Inferred && f.tensor.Inferred // a gathered tensor stays whole
	for _, s := range r.body[r.first:] {
		hostir.ReplaceDef(s, f.tensor, t)
		hostir.SubstituteUses(s, hostir.ByMap(map[*hostir.Tensor]*hostir.Tensor{f.tensor: t}))
	}
	for _, forms := range r.made {
		for at, other := range forms {
			if other.tensor == f.tensor {
				forms[at] = form{t, other.dims}
			}
		}
	}
}
