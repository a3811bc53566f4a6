package calls

import "slices"

// A Step is an action of each rank's host outside of the calls. All ranks do the same steps in the same order. A rank
// skips steps for objects that it does not have. Name is a buffer, a set of events, a team, a share, the flags of a
// share (FlagsOf), a workspace, Copies or Compute; empty for Finish and Meet.
type Step struct {
	Do   Deed
	Name string
}

// Deed is the action of a step.
type Deed string

// The deeds. Exchange and Meet make ranks wait for each other.
const (
	Allocate Deed = "allocate" // allocates memory
	Make     Deed = "make"     // creates streams, events or a team
	Export   Deed = "export"   // creates the handles of a share's memory and flags
	Exchange Deed = "exchange" // sends the handles to the ranks of the share, and receives theirs
	Import   Deed = "import"   // maps the memory and flags of the peers
	Finish   Deed = "finish"   // waits until everything that this rank has issued has ended
	Meet     Deed = "meet"     // waits for all ranks
	Close    Deed = "close"    // unmaps the imported memory of a share
	Free     Deed = "free"     // frees memory
	Destroy  Deed = "destroy"  // destroys streams, events or a team
)

// Deeds maps each deed to whether its steps have a Name.
var Deeds = map[Deed]bool{
	Allocate: true, Make: true, Export: true, Exchange: true, Import: true, Finish: false, Meet: false, Close: true, Free: true, Destroy: true,
}

// Life lists the steps before the first call, at the beginning of the first call, and after the last call.
type Life struct {
	Create  []Step
	First   []Step // share the caller's memory with other ranks: the program learns its address in the first call
	Destroy []Step
}

// Names in steps: the workspace for the caller's stream, and the workspaces for all compute streams.
const (
	CallersWorkspace  = "workspace_"
	ComputeWorkspaces = "workspaces_"
)

// FlagsOf returns the name of the memory of a share's flags.
func FlagsOf(share string) string { return share + ".flags" }

// LifeOf returns the steps in the order of the emitted class: first its data members as they are declared, then its
// constructor, then the first run(). The destructors of hirgen::Peers, and then of hirgen::Context,
// do the Destroy steps.
func LifeOf(p *Program) Life {
	var l Life
	add := func(list *[]Step, do Deed, names ...string) {
		for _, name := range names {
			*list = append(*list, Step{do, name})
		}
	}
	var teams, memory, events, shares, flags, workspaces, compute []string
	for _, d := range p.Teams {
		teams = append(teams, d.Name)
	}
	for _, d := range p.Buffers {
		if d.In == "" {
			memory = append(memory, d.Name)
		}
	}
	for _, d := range p.Events {
		events = append(events, d.Name)
	}
	for _, d := range p.Shares {
		shares, flags = append(shares, d.Name), append(flags, FlagsOf(d.Name))
	}
	caller, others := p.Workspaces()
	if caller != nil {
		memory = append(memory, CallersWorkspace)
	}
	if p.Streams > 0 {
		compute = []string{Compute}
		if others != nil {
			workspaces = []string{ComputeWorkspaces}
		}
	}
	var copies []string
	if len(shares) > 0 {
		copies = []string{Copies}
	}
	add(&l.Create, Make, copies...)
	add(&l.Create, Make, teams...)
	add(&l.Create, Allocate, memory...)
	add(&l.Create, Make, events...)
	add(&l.Create, Make, compute...)
	add(&l.Create, Allocate, workspaces...)
	for _, d := range p.Shares {
		list := &l.Create
		if p.IsCallers(d) {
			list = &l.First
		}
		*list = append(*list, Step{Allocate, FlagsOf(d.Name)}, Step{Export, d.Name}, Step{Exchange, d.Name}, Step{Import, d.Name})
	}
	l.Destroy = []Step{{Do: Finish}}
	if len(shares) > 0 {
		l.Destroy = append(l.Destroy, Step{Do: Meet})
		add(&l.Destroy, Close, shares...)
		l.Destroy = append(l.Destroy, Step{Do: Meet})
		add(&l.Destroy, Free, flags...)
	}
	add(&l.Destroy, Destroy, slices.Concat(copies, teams, events, compute)...)
	add(&l.Destroy, Free, slices.Concat(memory, workspaces)...)
	return l
}

// IsCallers reports whether the memory of a share is an argument, which the caller owns.
func (p *Program) IsCallers(s *Share) bool {
	return slices.ContainsFunc(p.Arguments, func(a *Argument) bool { return a.Name == s.Memory })
}

// Sections returns the lists of a life, in order, with their names in the text form.
func (l *Life) Sections() []Section {
	return []Section{{"create", &l.Create}, {"first call", &l.First}, {"destroy", &l.Destroy}}
}

// Section is a named list of steps.
type Section struct {
	Name  string
	Steps *[]Step
}

// String returns the text form of a step.
func (s Step) String() string {
	if s.Name == "" {
		return string(s.Do)
	}
	return string(s.Do) + " " + s.Name
}
