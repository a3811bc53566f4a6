package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// A programView is the data of the templates of the files.
type programView struct {
	Namespace   string // hirgen_NAME; files, targets and functions are named after NAME
	Class       string
	Spec        string // base name of the spec
	Version     string // version of hirgen
	Command     string // command that regenerates the folder
	BannerLines []string
	Banner      string // first comment of a C++ file
	CBanner     string // first comment of a C file
	CMakeBanner string
	Operations  []string // the first 64, and the number of the others
	Summary     []string // operations, tensors, communications and schedule, a line each
	Description string   // the first operations and the number of the others, in one line
	Go          *goView  // view of the Go package; nil: there is none
	Calls       string   // the text of the calls, of both variants
	Digest      string   // SHA-256 of Calls, in hexadecimal
	File        string   // name of the C++ file of this variant
	Where       string   // spec and name of the program, for run-time errors

	TypeHeaders []string // headers of CUDA that define element types
	Headers     []string
	Types       []domain.ElementType
	*calls.Program
	About *calls.About

	Binds    []*calls.Argument // the arguments that the program uses
	Peers    bool              // ranks share memory
	Driver   bool              // some flags are written or awaited by stream memory operations
	Ranks    int               // number of ranks of the world
	Gemms    bool
	GemmAdds bool
	// Workspaces of the caller's stream and of each compute stream; nil: none.
	CallerWorkspace, ComputeWorkspace *workspaceView

	UsesRank       bool // the interface depends on the rank
	Coordinates    []coordinateView
	Tensors        []tensorView // inputs, then outputs
	WorldSize      string
	GemmSizes      []string // C++ initialisers: m, n, k and batch of each GEMM
	Parameters     []string // C++ initialisers: name and value of each parameter
	Communications []string // literals: kind, mesh axis and, apart from the world, mesh of each communication
	Bytes          string   // bytes of the largest communication; "0" without communications
	Largest        string   // kind of the largest communication; empty without communications
	Team           string   // number of ranks of the largest communication; empty unless it is a collective of several ranks

	Saved     []refView // operations that compute the inputs that a forward pass saves
	Reference []refView // the other operations
	Runtime   []File
	Python    *pythonView // the package for PyTorch; nil: there is none

	Fallback *programView    // the variant for ranks that cannot all share memory; nil: none
	shared   map[string]bool // the arguments that other ranks reach into, in any variant
	Instead  string          // the file of the program whose fallback variant this is; empty: not a fallback variant
}

// IsShared reports whether other ranks reach into the memory of an argument, in any variant.
func (v *programView) IsShared(argument string) bool { return v.shared[argument] }

// variants returns the program, and its fallback variant if it has one.
func (v *programView) variants() []*programView {
	if v.Fallback == nil {
		return []*programView{v}
	}
	return []*programView{v, v.Fallback}
}

// Attends reports whether the program or its gradient computes attention.
func (v *programView) Attends() bool {
	return len(v.Attentions) > 0 || v.Python != nil && v.Python.BackwardAttends
}

// Ucc reports whether the program or its fallback variant calls UCC.
func (v *programView) Ucc() bool { return slices.ContainsFunc(v.variants(), (*programView).CallsUcc) }

// CallsUcc reports whether this variant calls UCC.
func (v *programView) CallsUcc() bool {
	return slices.ContainsFunc(v.Teams, func(t *calls.Team) bool { return t.Via != "" })
}

// A workspaceView is the memory that the GEMMs and attentions of a stream use.
type workspaceView struct {
	Plans, Where string // the plans that use it, as C++ arguments, and its name in errors
	Who          string // what the compute streams run in it: "GEMMs", "attentions" or "GEMMs and attentions"
	Caller       bool   // the caller's stream uses it, too
}

// A coordinateView is this rank's coordinate along a mesh axis.
type coordinateView struct {
	Name, Mesh string
	Axis       int
}

// A tensorView is an input or an output of the program.
type tensorView struct {
	*calls.Tensor
	Var         string // name of the argument in C++
	Local       string // shape of one rank's buffer
	Type        domain.ElementType
	Axes        []string // initialisers of hirgen::Axis
	Shape       string   // as the spec writes it, for comments
	Present     string   // C++ condition for whether a rank has a shard; empty if every rank has one
	Output      bool
	Where       string
	Contraction string // the most terms of a sum that contains elements of an input, over all matmuls; empty for 1
	Deviation   string // standard deviation of an input, or number of rows that its integers choose from; empty for 0, which stands for 1
	Saved       bool   // an input that a forward pass saves
}

// A refView is one call of hirgen::Reference, in reference.cpp.
type refView struct {
	Method string
	Args   []string
	Where  string
}

// Kernels returns the kernels of the program and of its fallback variant.
func (v *programView) Kernels() []kernelView {
	var list []kernelView
	launches := launchesOf(v.variants())
	for _, variant := range v.variants() {
		values := variant.Values()
		for _, k := range variant.Program.Kernels {
			if slices.ContainsFunc(list, func(other kernelView) bool { return other.Name == k.Name }) {
				continue // the variants share it
			}
			wide := slices.ContainsFunc(launches[k.Name], func(l *calls.Launch) bool { return isWide(k, l, values) })
			list = append(list, kernelView{k, runOf(k, launches[k.Name]), wide, turnedBy(k, launches[k.Name])})
		}
	}
	return list
}

// Exchanges reports whether some kernels exchange their rows with other ranks.
func (v *programView) Exchanges() bool {
	return slices.ContainsFunc(v.Kernels(), func(k kernelView) bool { return k.Arrives != nil })
}

// Scatters reports whether some kernels take views: operands with strides.
func (v *programView) Scatters() bool {
	return slices.ContainsFunc(v.Kernels(), func(k kernelView) bool { return k.Views })
}

// FoldsColumns reports whether some kernels reduce each column over all rows.
func (v *programView) FoldsColumns() bool {
	return slices.ContainsFunc(v.Kernels(), kernelView.FoldsColumns)
}

// Turns reports whether some kernels transpose an operand.
func (v *programView) Turns() bool {
	return slices.ContainsFunc(v.Kernels(), func(k kernelView) bool { return k.Turned > 0 })
}

// StreamCount returns the name of the constant that is the number of compute streams.
func (v *programView) StreamCount() string { return calls.StreamCount }

// Members returns the buffers that the program keeps from call to call, except scratch buffers and buffers in the
// caller's tensors.
func (v *programView) Members() []*calls.Buffer {
	return slices.DeleteFunc(v.buffersOf(false), func(b *calls.Buffer) bool { return b.Works != "" })
}

// SharesMemory reports whether several of the Members have the same memory.
func (v *programView) SharesMemory() bool {
	return slices.ContainsFunc(v.Members(), func(b *calls.Buffer) bool { return b.First != "" })
}

// Polled reports whether the watchdog polls the events, which it cannot do within a graph.
func (v *programView) Polled() bool { return len(v.Events) > 0 && !v.Graph }

// SetsOfEvents reports whether ranks share memory, and some set of events has several events.
func (v *programView) SetsOfEvents() bool {
	return len(v.Shares) > 0 && slices.ContainsFunc(v.Events, func(e *calls.Events) bool { return e.Count.String() != "1" })
}

// Collective reports whether the constructor meets the other ranks' constructors.
func (v *programView) Collective() bool { return len(v.Teams) > 0 || v.Peers }

// KernelTransfers reports whether kernels copy from rank to rank, so that they also wait for flags and set them.
func (v *programView) KernelTransfers() bool {
	return calls.Any(v.Body, calls.Is[*calls.Transfer])
}

// Loops reports whether the program has a loop.
func (v *programView) Loops() bool {
	return calls.Any(v.Body, calls.Is[*calls.For])
}

// Deviations reports whether the description of an input has a deviation.
func (v *programView) Deviations() bool {
	return slices.ContainsFunc(v.Tensors, func(t tensorView) bool { return t.Deviation != "" })
}

// NamedParts explains the names of constants that are parts of parameters, each kind by an example: "kShardM is one
// rank's part of M".
func (v *programView) NamedParts() string {
	var parts []string
	for _, kind := range [][2]string{
		{"kShard", "one rank's part"}, {"kSlice", "one iteration's part"}, {"kSliceShard", "one rank's part of an iteration's part"},
	} {
		example := ""
		for _, c := range slices.Backward(v.Constants) {
			rest, found := strings.CutPrefix(c.Name, kind[0])
			part, divided := c.Value.(*expr.Binary)
			if !divided {
				continue
			}
			_, plain := part.X.(expr.Var)
			if found && (kind[0] != "kSlice" || !strings.HasPrefix(rest, "Shard")) && (plain || example == "") {
				example = fmt.Sprintf("%s is %s of %s", c.Name, kind[1], spell(part.X))
			}
		}
		if example != "" {
			parts = append(parts, example)
		}
	}
	return strings.Join(parts, ", ")
}

// Scratch returns the scratch buffers of attentions.
func (v *programView) Scratch() []*calls.Buffer { return scratchOf(v.Buffers) }

// InOutputs returns the buffers in the memory of the caller's tensors.
func (v *programView) InOutputs() []*calls.Buffer { return v.buffersOf(true) }

func (v *programView) buffersOf(callers bool) []*calls.Buffer {
	arguments := calls.ByName(v.Arguments)
	return lists.Except(v.Buffers, func(b *calls.Buffer) bool { return (arguments[b.In] != nil) != callers })
}

// OwnShares returns the shares of the program's buffers. The constructor shares them.
func (v *programView) OwnShares() []*calls.Share { return v.sharesOf(false) }

// CallerShares returns the shares of the caller's tensors.
func (v *programView) CallerShares() []*calls.Share { return v.sharesOf(true) }

func (v *programView) sharesOf(callers bool) []*calls.Share {
	var list []*calls.Share
	for _, s := range v.Shares {
		if v.IsCallers(s) == callers {
			list = append(list, s)
		}
	}
	return list
}

// Constructs reports whether the program's constructor has statements.
func (v *programView) Constructs() bool { return v.Streams > 0 || len(v.OwnShares()) > 0 }

// SharedByTeams returns the names of the shape constants of all shares if only a part of the ranks shares some memory,
// and nil otherwise.
func (v *programView) SharedByTeams() []string {
	var constants []string
	for _, s := range v.Shares {
		constants = append(constants, s.Shape)
	}
	if !slices.ContainsFunc(v.Shares, func(s *calls.Share) bool { return s.Mesh != "" }) {
		return nil
	}
	return constants
}

// HasSharers reports whether there is a fallback variant, and only a part of the ranks shares some memory of this
// variant.
func (v *programView) HasSharers() bool { return v.Fallback != nil && len(v.SharedByTeams()) > 0 }

// Head returns the declarations at the start of run().
func (v *programView) Head() []calls.Stmt { return v.Body[:v.declarations()] }

// Tail returns the rest of the body.
func (v *programView) Tail() []calls.Stmt { return v.Body[v.declarations():] }

// declarations counts the statements at the start of the body that only declare names.
func (v *programView) declarations() int {
	n := slices.IndexFunc(v.Body, func(s calls.Stmt) bool { return !isDeclaration(s) })
	if n < 0 {
		return len(v.Body)
	}
	return n
}
