package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
)

// What a sum from rank to rank makes is gathered when all of it is there, and nothing is left
// to hide that transfer. So the slices of both pipelines may be cut into the same pieces: a
// piece is summed when its parts are there, and gathered while the products of the next one run.

// pieceByPiece is what the order is for.
const pieceByPiece = "piece by piece, so that one travels while the next one is computed"

// choosePieces names the variable of the loops over pieces, where the schedule asks for them,
// and complains where no pipeline can take them.
func (l *streamLowering) choosePieces(groups []*group) {
	if l.program.Choices.Pieces == 0 || len(groups) == 0 {
		return
	}
	l.piece, l.summed = l.names.Fresh("piece"), map[*hostir.Tensor]bool{}
	for _, g := range groups {
		for _, st := range g.steps {
			l.summed[hostir.Result(st.stmt)] = st.kind == toRankAtDistance
		}
	}
	products := int64(l.program.Choices.Chunks)
	at := slices.IndexFunc(groups, l.byPieces)
	if at < 0 {
		l.errors.Add(exchangeIn(groups), diag.NotLowerable,
			"pieces: %d has nothing to cut: pieces are those of a sum over ranks that a pipeline sends from rank to rank", l.program.Choices.Pieces).
			WithHint("leave out pieces; they go with pipeline: p2p and a reduction over an axis DIDx whose result has another one")
		return
	}
	if count := groups[at].axis.Extent.Size; products > count {
		l.errors.Add(exchangeIn(groups[at:]), diag.NotLowerable,
			"chunks: %d are more than the %d slices: with pieces, a product takes a piece of one slice, or of several", products, count).
			WithHint("choose chunks that divide %d, or more pieces", count)
	}
}

// exchangeIn is where the first exchange between ranks is in the spec, or else the first operation.
func exchangeIn(groups []*group) diag.Pos {
	for _, g := range groups {
		for _, st := range g.steps {
			if st.exchanges() {
				return st.stmt.Meta().Pos
			}
		}
	}
	return groups[0].steps[0].stmt.Meta().Pos
}

// byPieces reports whether a pipeline takes the pieces of its slices one after the other: it
// makes parts of a sum, or gathers such a sum.
func (l *streamLowering) byPieces(g *group) bool {
	return l.piece != "" && slices.ContainsFunc(g.steps, func(st step) bool {
		return st.kind == toRankAtDistance || st.kind == fromRankAtDistance && l.isSummed(st)
	})
}

// inOrder reports whether the products of a pipeline stay on the caller's stream: chunks say how many
// of them make a piece, and what follows them gets the worker streams, from overlap-pieces.
func (l *streamLowering) inOrder(g *group) bool {
	return l.byPieces(g) && l.program.Choices.Chunks > 0
}

// isSummed reports whether what a step gathers is a sum from rank to rank.
func (l *streamLowering) isSummed(st step) bool { return l.summed[hostir.Uses(st.stmt)[0]] }

// sumOfPieces is the sum of the parts, piece by piece along axis rows of the operand.
//
//	before: C = Reduce(sum, P_parts, axis 0)
//	after:  For piece in 2: C_piece = Reduce(sum, P_parts_piece, axis 0)
func (c *slicer) sumOfPieces(r hostir.Stmt, rows int) hostir.Stmt {
	if rows == shard.NoAxis {
		c.lowering.errors.Add(r.Meta().Pos, diag.NotLowerable, "pieces: %d needs slices of more than one element: a part of the sum %s has one",
			c.cut.pieces, hostir.Called(c.lowering.program, r, hostir.Result(r))).
			WithHint("leave out pieces")
		return r
	}
	axis := hostir.AxisMap(r)[0][rows]
	parts, selected := c.piece(r, nil, c.parts[r], rows)
	sum, made := c.piece(r, nil, hostir.Result(r), axis)
	hostir.SubstituteUses(r, func(*hostir.Tensor) *hostir.Tensor { return parts })
	hostir.SubstituteDefs(r, func(*hostir.Tensor) *hostir.Tensor { return sum })
	return c.overPieces(r, selected, made, r)
}
