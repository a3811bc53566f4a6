// Package collective defines the communications of a team of ranks: one row for each type. The interpreters, the prover, the cost
// model, the verifier and the emitter read the rows. A row defines sizes, movement of data and names, but no order: the
// interpreters and the prover each have their own matching of ranks, and their own waits.
package collective

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
)

// Type is the type of a communication in the host IR.
type Type string

// The types of communication.
const (
	Allgather     Type = "Allgather"
	Allreduce     Type = "Allreduce"
	ReduceScatter Type = "ReduceScatter"
	Gather        Type = "Gather"
	Scatter       Type = "Scatter"
	Reduce        Type = "Reduce"
	Broadcast     Type = "Broadcast"
	AllToAll      Type = "AllToAll"
	SendRecv      Type = "SendRecv"
)

// Form describes how data moves. The zero Form is an allgather: every rank gets the operands of all ranks, one after the other.
// No two rows have the same form.
type Form struct {
	FromRoot bool // only the root has an operand
	ToRoot   bool // only the root has a result
	Splits   bool // an operand has one slice for each rank of the team; otherwise every receiver gets all of it
	Reduces  bool // a receiver combines what it gets; otherwise it concatenates it, in the order of the team
	Pairs    bool // a rank sends to the rank at its position in another mesh
}

// Row defines one type of communication.
type Row struct {
	Type   Type
	Call   string // the kind of a calls.NcclCall
	Handle string // the base of the names of such communications in a program
	NCCL   string // the function of NCCL; empty: the template nccl/<Call> prints sends and receives
	UCC    string // UCC_COLL_TYPE_...; empty: UCC has none
	Form
}

var rows = []*Row{
	{Allgather, "allgather", "gather", "ncclAllGather", "ALLGATHER", Form{}},
	{Allreduce, "allreduce", "allreduce", "ncclAllReduce", "ALLREDUCE", Form{Reduces: true}},
	{ReduceScatter, "reduce_scatter", "reduce_scatter", "ncclReduceScatter", "REDUCE_SCATTER", Form{Splits: true, Reduces: true}},
	{Gather, "gather", "gather_to_root", "", "GATHER", Form{ToRoot: true}},
	{Scatter, "scatter", "scatter", "", "SCATTER", Form{FromRoot: true, Splits: true}},
	{Reduce, "reduce_to_root", "reduce_to_root", "ncclReduce", "REDUCE", Form{ToRoot: true, Reduces: true}},
	{Broadcast, "broadcast", "broadcast", "ncclBroadcast", "BCAST", Form{FromRoot: true}},
	{AllToAll, "all_to_all", "all_to_all", "", "ALLTOALL", Form{Splits: true}},
	{SendRecv, "send_recv", "send_recv", "", "", Form{Pairs: true}},
}

// Rows lists all rows.
func Rows() []*Row { return rows }

// Types lists the types of all rows.
func Types() []Type {
	return lists.Map(rows, func(r *Row) Type { return r.Type })
}

// find returns the row that matches, or nil.
func find(matches func(*Row) bool) *Row {
	if i := slices.IndexFunc(rows, matches); i >= 0 {
		return rows[i]
	}
	return nil
}

// Of returns the row of a kind of calls; nil for sends, receives and unknown kinds.
func Of(call string) *Row { return find(func(r *Row) bool { return r.Call == call }) }

// Row returns the row of a type, or nil for an unknown type.
func (t Type) Row() *Row { return find(func(r *Row) bool { return r.Type == t }) }

// Kind returns the name of the type in reports: "reducescatter".
func (t Type) Kind() string { return strings.ToLower(string(t)) }

// Type returns the type of the row with a form; empty if there is none.
func (f Form) Type() Type {
	if r := find(func(r *Row) bool { return r.Form == f }); r != nil {
		return r.Type
	}
	return ""
}
