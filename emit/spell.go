package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// These functions print the parts of calls in C++. The calls already contain all decisions.

// spell prints an expression. Host programs write the quotient x / n of a rank or a coordinate as (x - x % n) / n,
// and spell prints x / n, which rounds down in C++ because x is not negative. C++ computes constants in int, so an
// operation on two constants whose value does not fit in int is printed as its value.
func spell(e expr.Expr) string { return shortened(e).String() }

func shortened(e expr.Expr) expr.Expr {
	b, ok := e.(*expr.Binary)
	if !ok {
		return e
	}
	short := &expr.Binary{Op: b.Op, X: shortened(b.X), Y: shortened(b.Y)}
	if value, ok := expr.Fold(short).(expr.Int); ok && int64(value) != int64(int32(value)) {
		return value
	}
	if difference, ok := short.X.(*expr.Binary); ok && b.Op == "/" && difference.Op == "-" {
		x, isName := difference.X.(expr.Var)
		rest := &expr.Binary{Op: "%", X: x, Y: short.Y}
		if isName && difference.Y.String() == rest.String() {
			return &expr.Binary{Op: "/", X: x, Y: short.Y}
		}
	}
	return short
}

// speller prints the parts of calls that depend on the declarations of a program.
type speller struct {
	shares     map[string]*calls.Share
	shapes     map[string]*calls.Shape
	attentions map[string]*calls.Attention
	kernels    map[string]*calls.Kernel
	buffers    map[string]*calls.Buffer
	behind     map[string]*calls.Buffer // for a buffer in another buffer's memory: an earlier buffer there that ends where it begins
	ends       map[end][]*calls.Buffer  // buffers by the place of their memory and their last use
	places     map[string]int           // index of each argument among the caller's tensors, from 0
	graph      bool
	values     calls.Values
}

func newSpeller(p *calls.Program) *speller {
	buffers := slices.Concat(p.Buffers, p.Outputs())
	s := &speller{shares: calls.ByName(p.Shares), shapes: calls.ByName(p.Shapes), attentions: calls.ByName(p.Attentions),
		kernels: calls.ByName(p.Kernels),
		buffers: calls.ByName(buffers), ends: ends(buffers), places: map[string]int{}, graph: p.Graph, values: p.Values()}
	for i, d := range p.Arguments {
		s.places[d.Name] = i
	}
	s.behind = neighbours(p)
	return s
}

// funcs returns the functions of templates that print calls.
func (s *speller) funcs() template.FuncMap {
	return template.FuncMap{
		"cpp": spell, "ptr": s.pointer, "stream": stream, "event": event, "flag": flag, "peerflag": peerFlag,
		"alias": alias, "nccl": ncclType, "ucc": uccName, "dtype": dtype, "ncclfn": func(fn string) string { return domain.FoldOf(fn).NCCL },
		"rank": rankOf, "note": note, "memory": s.memory, "lives": s.lives, "below": below,
		"shapename": func(s *calls.Shape) string { return cmp.Or(s.Like, s.Name) }, "pluck": s.plan, "packs": func(shape string) bool {
			return s.shapes[shape].Copies()
		}, "attend": s.attend, "attention": s.attentionNamed, "attentionshape": s.attentionOf, "layout": layoutOf, "gradients": gradientsOf,
		"attentionplan": planOfAttention, "fn": fnOf, "collective": collective.Of, "view": view, "extents": extents,
		"holds": s.holds, "condition": s.condition, "use": useOf, "branch": s.branchOf, "workspace": workspace, "scratch": s.scratch,
		"scratchname": scratchName, "scratchsize": s.scratchSize,
		"offset": peerOffset,
		"params": s.paramsOf, "constants": constantsOf, "create": createOf, "bytes": bytesOf, "source": sourceOf, "dims": brackets,
		"number": letValue, "begin": s.begin, "shares": sharesOf, "receive": s.receive, "ranks": intList[int64], "shape": shapeOf,
		"kernelparams": kernelParams, "kernelmembers": kernelMembers, "kernelbody": kernelBody, "kernellaunch": kernelLaunch,
		"lower":     strings.ToLower,
		"scattered": s.scattered, "rows": rowsOf, "class": names.ClassName,
		"shared": s.sharedShape, "team": teamOf, "tensor": s.tensor, "bound": s.bound,
	}
}

// pointer prints an address: a base, which may be the memory of a peer, plus an offset in elements.
func (s *speller) pointer(p calls.Pointer) string {
	text := p.Base
	if p.Peer != nil {
		text = fmt.Sprintf("%s.of<%s>(%s)", p.Base, alias(s.shares[p.Base].Type), spell(p.Peer))
	}
	if p.Offset != nil {
		text += " + " + spell(p.Offset)
	}
	return text
}

// stream prints a stream: a compute stream by its index, the stream of a team, or a variable.
func stream(s calls.Stream) string {
	switch {
	case s.Index != nil:
		return "compute_[" + spell(s.Index) + "]"
	case s.Team:
		return s.Name + ".stream"
	default:
		return s.Name
	}
}

// workspace prints the workspace of the GEMMs and attentions on a compute stream, or on the caller's stream without an index.
func workspace(index expr.Expr) string {
	if index == nil {
		return "workspace_"
	}
	return "workspaces_[" + spell(index) + "]"
}

func event(e calls.Event) string { return e.Set + "[" + spell(e.Index) + "]" }

// flag prints the ready or the done flag of a transfer, in this rank's memory.
func flag(f calls.Flag) string {
	member := "ready"
	if f.Done {
		member = "done"
	}
	return fmt.Sprintf("%s.%s(%s)", f.Share, member, spell(f.Transfer))
}

// peerFlag prints the ready or the done flag of a transfer that a statement writes, in the memory of a peer.
func peerFlag(w *calls.FlagWrite) string {
	member := "ready_at"
	if w.Flag.Done {
		member = "done_at"
	}
	return fmt.Sprintf("%s.%s(%s, %s)", w.Flag.Share, member, spell(w.Peer), spell(w.Flag.Transfer))
}

func alias(t domain.DType) string    { return t.Row().Alias() }
func ncclType(t domain.DType) string { return t.Row().NCCL }
func dtype(t domain.DType) string    { return "hirgen::DType::" + domain.Enumerator(string(t)) }

// uccName prints the end of UCC's name for a type or a reduction: "BFLOAT16" for "ncclBfloat16".
func uccName(nccl string) string { return strings.ToUpper(strings.TrimPrefix(nccl, "nccl")) }

// rankOf prints an expression as the int that NCCL takes.
func rankOf(e expr.Expr) string {
	if _, plain := e.(expr.Int); plain {
		return e.String()
	}
	return "static_cast<int>(" + spell(e) + ")"
}

// note prints the reason for a statement as a comment. It is empty without a reason.
func note(s calls.Stmt) string {
	text := s.Meta().Note
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return comment(string(unicode.ToUpper(first)) + strings.TrimRight(text[size:], ".") + ".")
}

// plan returns the name of the plan of a GEMM shape.
func (s *speller) plan(shape string) string { return s.shapes[shape].Plan }

// attentionNamed returns an attention by name.
func (s *speller) attentionNamed(name string) *calls.Attention { return s.attentions[name] }

// fnOf prints the function of a unary, binary or reduce kernel as an enumerator of the runtime.
func fnOf(l *calls.Launch) (string, error) {
	switch l.Kernel {
	case "binary":
		return "hirgen::BinaryFn::" + domain.Enumerator(l.Fn), nil
	case "reduce":
		return "hirgen::ReduceFn::" + domain.Enumerator(l.Fn), nil
	}
	fn, ok := unaryFn(l.Fn)
	if !ok {
		return "", fmt.Errorf("there is no kernel for the function %q", l.Fn)
	}
	return fn, nil
}

// view prints extents and strides as a hirgen::Strided.
func view(o calls.Operand) string {
	return braces(fmt.Sprint(len(o.Extents)), extents(o.Extents), extents(o.Strides))
}

func extents(expressions []expr.Expr) string { return braces(lists.Map(expressions, spell)...) }

// condition prints the condition of an If: a guard, whether a rank is an IPC peer (or, for InterNode, is none), and an
// expression. An If may lack some of these; && joins the others.
func (s *speller) condition(i *calls.If) string {
	var parts []string
	if i.Guard != "" {
		parts = append(parts, i.Guard)
	}
	if i.PeerAccess != nil {
		not := ""
		if i.InterNode {
			not = "!"
		}
		parts = append(parts, not+"peers_.is_ipc_peer("+spell(i.PeerAccess)+")")
	}
	if i.Cond != nil {
		parts = append(parts, spell(i.Cond))
	}
	return strings.Join(parts, " && ")
}

// branchOf prints the value of a pointer. With a condition, that is one of two pointers; with a guard, it is null on ranks
// for which the guard is false.
func (s *speller) branchOf(d *calls.Declare) string {
	text := s.pointer(d.Value)
	if d.Cond != nil {
		text = fmt.Sprintf("%s ? %s : %s", spell(d.Cond), text, s.pointer(d.Else))
	}
	switch {
	case d.Guard != "" && d.Cond != nil:
		text = fmt.Sprintf("%s ? (%s) : nullptr", d.Guard, text)
	case d.Guard != "":
		text = fmt.Sprintf("%s ? %s : nullptr", d.Guard, text)
	}
	return text
}

// useOf prints the declaration of a batch: its class, name and arguments.
func useOf(m *calls.MemOpBatch) string {
	use := map[string]string{"write": "hirgen::FlagUse::kWrite", "wait": "hirgen::FlagUse::kWait"}[m.Use]
	switch {
	case m.Use == "copy":
		return "hirgen::TransferKernel " + m.Name
	case m.Use == "memcpy":
		return "hirgen::CopyKernel " + m.Name
	case m.Kernel:
		return "hirgen::FlagKernel " + m.Name + "(" + use + ")"
	default:
		return "hirgen::MemOpBatch " + m.Name + "(" + use + ", driver_)"
	}
}

// peerOffset prints the number of elements before the shard of rank "peer".
func peerOffset(count expr.Expr) string {
	return spell(&expr.Binary{Op: "*", X: expr.Var("int64_t{peer}"), Y: count})
}

// braces prints an initialiser list.
func braces(items ...string) string { return "{" + strings.Join(items, ", ") + "}" }

// bytesOf prints the size of a number of elements, in bytes.
func bytesOf(elements expr.Expr, t domain.DType) string {
	return operandOf(elements) + " * sizeof(" + alias(t) + ")"
}

// operandOf prints an expression as a factor, in parentheses if necessary.
func operandOf(e expr.Expr) string {
	if b, ok := e.(*expr.Binary); ok && b.Op != "*" && b.Op != "/" && b.Op != "%" {
		return "(" + spell(e) + ")"
	}
	return spell(e)
}

// letValue prints the value that a Let gives to its name: this rank, its coordinate, the rank at a coordinate, or an expression.
func letValue(l *calls.Let) string {
	switch {
	case l.At != nil:
		return fmt.Sprintf("%s.rank_along(context_.rank(), %d, %s)", l.Mesh, l.Axis, spell(l.At))
	case l.Mesh != "":
		return fmt.Sprintf("%s.coordinate(context_.rank(), %d)", l.Mesh, l.Axis)
	case l.Value == nil:
		return "context_.rank()"
	default:
		return spell(l.Value)
	}
}

// begin prints the call of the runtime that begins the use of shared memory in one call of the program. This call of
// the runtime also increments the sequence number, except in a graph, where a kernel increments it.
func (s *speller) begin(b *calls.BeginCall) string {
	share := s.shares[b.Share]
	if s.graph {
		return fmt.Sprintf("share_for_graph(%s, %s)", share.Memory, share.Shape)
	}
	return fmt.Sprintf("share_for_call(%s, %s)", share.Memory, share.Shape)
}

// sharesOf prints a list of pointers to shares.
func sharesOf(list []string) string { return "{&" + strings.Join(list, ", &") + "}" }

// receive prints the operand of a broadcast as the receive buffer of a root without a result. NCCL writes the same
// values there, so a const operand may be cast.
func (s *speller) receive(c *calls.NcclCall) string {
	if c.Writable {
		return s.pointer(c.In)
	}
	return "const_cast<" + alias(c.Type) + "*>(" + s.pointer(c.In) + ")"
}

// brackets prints a shape: "[M, K]".
func brackets(shape []expr.Expr) string {
	return "[" + lists.Join(shape, spell) + "]"
}

// sourceOf prints the stream that a stream variable refers to: the copy stream or a compute stream.
func sourceOf(d *calls.DeclareStream) string {
	if d.Index == nil {
		return "peers_.copies()"
	}
	return "compute_[" + spell(d.Index) + "]"
}
