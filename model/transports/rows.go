// Package transports defines the transports, which carry communications, in one row each. The schedule, the host IR,
// the passes and the emitter read the rows. CONTRIBUTING.md lists the other files that a transport needs.
package transports

// Row defines a transport.
type Row struct {
	Name        string // name in specs and reports
	Title       string // name in the host IR and in messages
	Doc         string // description for docs/spec.md
	Collectives bool   // it carries calls of a whole team of ranks
	Pairs       bool   // it carries sends and receives between two ranks
	Shares      bool   // ranks use each other's memory, and are on one node
	Graphs      bool   // a CUDA graph captures its calls
}

// The names of rows that code refers to.
const (
	NCCL   = "nccl"
	IPCGet = "ipc-get"
	IPCPut = "ipc-put"
)

var rows = []Row{
	{Name: NCCL, Title: "NCCL", Doc: "NCCL: a collective, or send and receive in one group", Collectives: true, Pairs: true, Graphs: true},
	{Name: IPCGet, Title: "IPC-get", Doc: "CUDA IPC: the receiver copies from the sender's memory", Pairs: true, Shares: true, Graphs: true},
	{Name: IPCPut, Title: "IPC-put", Doc: "CUDA IPC: the sender copies into the receiver's memory", Pairs: true, Shares: true, Graphs: true},
	{Name: "ucc", Title: "UCC", Doc: "[UCC](#ucc): a collective", Collectives: true},
}

// Rows lists all rows, in the order of the documentation. The first is the default.
func Rows() []Row { return rows }

// Named returns the row with a name or a title, or an empty row.
func Named(name string) Row {
	for _, r := range rows {
		if r.Name == name || r.Title == name {
			return r
		}
	}
	return Row{}
}
