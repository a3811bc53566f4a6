package emit

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A builder turns one host program into its view.
type builder struct {
	program *hostir.Program
	view    *programView
	names   *names
	scope   *scope

	pairs     map[string]*hostir.Exchange // transfers through shared memory, by handle
	exchanges map[*hostir.Exchange]*exchange
	shares    map[shareKey]*shareView
	arguments map[*hostir.Tensor]int      // the indices of inputs and outputs among the caller's tensors
	copies    map[*hostir.Tensor]quantity // buffers of a tensor that a loop allocates
	terms     map[string]domain.Terms     // of the sums of the model's matmuls, by operand

	coordinates map[string]string    // C++ names of coordinates, by mesh and axis
	along       []*coordinate        // this rank's coordinates along mesh axes
	placed      map[string]expr.Expr // expressions with coordinates in them, by mesh and text
	peersAt     map[string]peer      // ranks that transfers are with, by mesh and text
	named       []*repeated          // the repeats in scope, innermost last
	usesRank    bool                 // run() names this rank

	used      map[*hostir.Tensor]bool
	buffers   map[*hostir.Tensor]*buffer
	variables map[*hostir.Tensor]string // C++ names of tensors, given once
	meshes    map[*domain.Mesh]string
	teams     map[teamKey]string
	guards    map[string]string // members, by the ranks
	streams   map[string]string // C++ names of stream variables
	handles   map[string]*transfer
	limited   map[string]*hostir.P2PCommunication // transfers with some peers alone, by handle
	labels    map[string]string                   // names of constants, by text
	derived   []string                            // communications in words, for the summary

	loops      []loop
	earlier    []earlierWait    // of the outermost loop
	conditions []condition      // around the statement at hand
	guard      string           // of the statement at hand: who runs it; empty for all
	declared   []*hostir.Tensor // in the innermost statement list
	current    streamRef        // what the next statement runs on
	group      *transfer        // the open group of communications
	signals    *flagGroup       // the open group of transfers through shared memory
	reduction  string           // the variable of the peer-read reduction at hand; empty outside of one

	kernels         bool // the program launches kernels of the runtime
	reducesPeers    bool // it has peer-read reductions
	callerWorkspace bool // the caller's stream has memory for GEMMs
}

// A loop is a For around the statement at hand.
type loop struct {
	name  string
	count quantity  // one more than the last iteration
	runs  quantity  // iterations
	at    expr.Expr // the iteration that is meant; nil: the one at hand
}

// iteration is the number of the iteration that is meant.
func (l loop) iteration() expr.Expr {
	if l.at != nil {
		return l.at
	}
	return expr.Var(l.name)
}

func newBuilder(p *hostir.Program) *builder {
	return &builder{
		program: p, view: &programView{}, names: newNames(),
		scope: &scope{values: map[string]int64{}, names: map[string]string{}},
		used:  usedTensors(p.Body), limited: limited(p.Body),
		pairs: hostir.Exchanges(p), exchanges: map[*hostir.Exchange]*exchange{}, shares: map[shareKey]*shareView{},
		arguments: map[*hostir.Tensor]int{}, copies: map[*hostir.Tensor]quantity{},
		terms:   terms(p),
		buffers: map[*hostir.Tensor]*buffer{}, variables: map[*hostir.Tensor]string{},
		meshes: map[*domain.Mesh]string{}, teams: map[teamKey]string{}, guards: map[string]string{}, streams: map[string]string{},
		handles: map[string]*transfer{}, coordinates: map[string]string{}, placed: map[string]expr.Expr{}, peersAt: map[string]peer{}, labels: map[string]string{}, current: callersStream,
	}
}
