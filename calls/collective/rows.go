// Package collective defines the communications of a team of ranks: one row for each type. The lowering, the interpreters,
// the prover, the cost model and the emitter read the rows. A row defines sizes, movement of data and names.
// It defines no order of execution: the interpreters and the prover match the calls of ranks themselves, and decide
// which waits for which.
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

// Form describes how data moves. The zero Form is an allgather: every rank gets the operands of all ranks, one after
// the other. No two rows have the same form.
type Form struct {
	FromRoot bool // only the root has an operand
	ToRoot   bool // only the root has a result
	Splits   bool // an operand has one slice for each rank of the team; otherwise every receiver gets the whole operand
	Reduces  bool // a receiver combines the data of all senders; otherwise it concatenates them, in the order of the team
	Pairs    bool // a rank sends to the rank at the same position in another mesh
}

// Row defines one type of communication.
type Row struct {
	Type   Type
	Call   string // the Kind of the calls.NcclCall
	Handle string // the base of the names of these communications in the host program
	NCCL   string // the name of the NCCL function; empty: there is none, and the template nccl/<Call> prints sends and receives
	UCC    string // the suffix of UCC_COLL_TYPE_; empty: UCC has no such collective
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

// Of returns the row with this Call, the Kind of a calls.NcclCall. It returns nil for sends, receives and unknown kinds.
func Of(call string) *Row { return find(func(r *Row) bool { return r.Call == call }) }

// Row returns the row of a type, or nil for an unknown type.
func (t Type) Row() *Row { return find(func(r *Row) bool { return r.Type == t }) }

// Kind returns the name of the type in reports, in lower case without separators: "reducescatter".
func (t Type) Kind() string { return strings.ToLower(string(t)) }

// Type returns the type of the row that has this form; empty if no row has it.
func (f Form) Type() Type {
	if r := find(func(r *Row) bool { return r.Form == f }); r != nil {
		return r.Type
	}
	return ""
}
