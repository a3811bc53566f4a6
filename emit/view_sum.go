package emit

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

type (
	// reductionNode declares a peer-read reduction, with the local partial sum.
	reductionNode struct {
		source
		Name, Rank, Local, DType string
	}
	// operandNode adds the partial sum of a peer or, with the name of the other member, has the sum
	// stored in a peer's memory.
	operandNode struct {
		source
		Sum, Member, Shared, Peer, Transfer, There, Elements string
	}
	// reductionEndNode issues the reduction.
	reductionEndNode struct {
		source
		Name, Out, Elements string
	}
)

func (*reductionNode) template() string    { return "stmt/reduction" }
func (*operandNode) template() string      { return "stmt/reduction_operand" }
func (*reductionEndNode) template() string { return "stmt/reduction_submit" }

// peerReadReduction prints a reduction that reads partial sums in peer memory.
func (b *builder) peerReadReduction(s *hostir.SumLoans) ([]node, error) {
	buffers, err := b.operandBuffers(s, s.Out, s.In)
	if err != nil {
		return nil, err
	}
	out, local := buffers[0], buffers[1]
	for _, u := range buffers {
		if !u.contiguous() {
			return nil, b.notContiguous(s, u.tensor, "a peer-read reduction")
		}
	}
	src := b.computed(s)
	sum := &reductionNode{
		source: source{Text: src.Text, Note: src.Note}, Name: b.names.local(s.Out.Name + "_sum"), Rank: b.index(expr.Var("rank")),
		Local: local.name, DType: out.typ.DType,
	}
	b.reducesPeers, b.reduction = true, sum.Name
	body, err := b.list(s.Body)
	b.reduction = ""
	if err != nil {
		return nil, err
	}
	issue := &reductionEndNode{source{Where: src.Where}, sum.Name, out.name, out.elements().String()}
	nodes := append(append([]node{sum}, body...), issue)
	return append(nodes, b.waitedForDone("sum_"+s.Out.Name, src)...), nil
}
