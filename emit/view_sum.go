package emit

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

type (
	// loanSumNode declares what gathers the parts of a sum, and names the own one.
	loanSumNode struct {
		source
		Name, Rank, Own, DType string
	}
	// borrowNode adds the part of a peer or, with the name of the other member, has the sum stored
	// at a peer's place.
	borrowNode struct {
		source
		Sum, Member, Shared, Peer, Transfer, There, Elements string
	}
	// sumNode issues the sum.
	sumNode struct {
		source
		Name, Out, Elements string
	}
)

func (*loanSumNode) template() string { return "stmt/loan_sum" }
func (*borrowNode) template() string  { return "stmt/borrow" }
func (*sumNode) template() string     { return "stmt/sum_loans" }

// sumLoans prints a sum that reads the parts of other ranks where they are.
func (b *builder) sumLoans(s *hostir.SumLoans) ([]node, error) {
	buffers, err := b.operandBuffers(s, s.Out, s.In)
	if err != nil {
		return nil, err
	}
	out, own := buffers[0], buffers[1]
	for _, u := range buffers {
		if !u.contiguous() {
			return nil, b.notContiguous(s, u.tensor, "a peer-read reduction")
		}
	}
	src := b.computed(s)
	sum := &loanSumNode{
		source: source{Text: src.Text, Note: src.Note}, Name: b.names.local(s.Out.Name + "_sum"), Rank: b.index(expr.Var("rank")),
		Own: own.name, DType: out.typ.DType,
	}
	b.sumsLoans, b.loanSum = true, sum.Name
	body, err := b.list(s.Body)
	b.loanSum = ""
	if err != nil {
		return nil, err
	}
	issue := &sumNode{source{Where: src.Where}, sum.Name, out.name, out.elements().String()}
	nodes := append(append([]node{sum}, body...), issue)
	return append(nodes, b.returned("sum_"+s.Out.Name, src)...), nil
}
