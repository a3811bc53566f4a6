package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hirgen/hirgen/internal/launch"
	"github.com/hirgen/hirgen/lowering/cost"
)

// Options say how to measure.
type Options struct {
	Ranks     int           // set the specs' meshes to so many; 0 leaves them
	Device    launch.Device // not Auto
	Machine   *cost.Machine // schedule: auto chooses, and predictions are, for this one; nil: the one that was measured
	Version   string        // of hirgen
	Work      string        // folder for programs, which stay there
	CMake     []string      // further cache entries
	Rounds    int           // each times every program of a problem once
	Repeats   int           // of a round
	Iters     int           // calls of a repeat; 0: as many as take some 20 ms, by the prediction
	Together  int           // programs that are ready at the same time, at most
	Starting  int           // programs that start, and check themselves, at the same time, at most; 0: all
	Jobs      int           // programs that are lowered, or built, at the same time; 0: one
	Near      float64       // programs that take so many times as long as the fastest one are in no further round; 0: in all
	NoGEMMs   bool          // the GEMMs alone are not timed
	Peers     string        // a command that is timed in turns with the programs of each problem, as peers.go says; "": none
	Arguments []string      // for the programs
	Progress  Progress
	// Kept gives a row of an earlier run with the same digest, ranks and device, which is not measured again; nil: none.
	Kept func(Row) (Row, bool)
	// KeptPeers gives the peers that were timed in turns with such a row.
	KeptPeers func(Row) []Row
	// Done gets each row as soon as it is there.
	Done func(Row) error
}

// Progress learns what is under way: done of all steps, and what comes next.
type Progress func(done, all int, next string)

// How long a program may take to start and check itself, and to time a round.
const (
	startLimit = 10 * time.Minute
	roundLimit = 5 * time.Minute
	endLimit   = time.Minute
)

// Run measures cases, problem by problem, in their order. The error is for what keeps it from going on.
func Run(ctx context.Context, cases []Case, o Options) error {
	r := &run{Options: &o, ctx: ctx, alone: map[string]*program{}}
	groups := o.groups(cases)
	for _, g := range groups {
		r.all += len(g) * (2 + o.Rounds)
	}
	for _, g := range groups {
		if err := r.group(g); err != nil {
			return err
		}
	}
	r.step(r.all-r.done, "")
	return nil
}

// groups are the programs of cases that are measured together: those of one problem, so many at most.
func (o *Options) groups(cases []Case) [][]*program {
	var groups [][]*program
	at := map[string]int{} // the last group of a problem
	lowered := make([]*program, len(cases))
	o.parallel(len(cases), func(i int) { lowered[i] = o.lower(cases[i]) })
	for i, c := range cases {
		p := lowered[i]
		i, known := at[c.problem()]
		if !known || len(groups[i]) == o.Together {
			i = len(groups)
			at[c.problem()] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// run is a run of all cases.
type run struct {
	*Options
	ctx       context.Context
	done, all int
	alone     map[string]*program // GEMMs alone that are built, by what they are
	mutex     sync.Mutex          // of the count of steps
}

// step counts so many steps as done, and says what is next.
func (r *run) step(n int, next string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.done += n
	if r.Progress != nil {
		r.Progress(r.done, r.all, next)
	}
}

// group measures programs of one problem in turns.
func (r *run) group(g []*program) error {
	peers := r.keep(g)
	wanted := slices.DeleteFunc(slices.Clone(g), func(p *program) bool { return p.row.Status != "" })
	r.step((len(g)-len(wanted))*(2+r.Rounds), "")
	if err := r.buildAll(wanted); err != nil {
		return err
	}
	alone, err := r.productsOf(wanted)
	if err != nil {
		return err
	}
	if len(wanted) > 0 {
		r.step(0, fmt.Sprintf("timing %d of %s", len(wanted), wanted[0].row.Problem()))
		if peers, err = r.time(wanted, alone); err != nil {
			return err
		}
	}
	compare(g)
	for _, p := range g {
		if err := r.Done(p.row); err != nil {
			return err
		}
	}
	for _, row := range peers {
		if err := r.Done(row); err != nil {
			return err
		}
	}
	return nil
}

// keep takes rows of an earlier run, and gives those of their peers. Programs and peers that are compared are always of
// one run: with peers, all rows are kept or none.
func (r *run) keep(g []*program) []Row {
	if r.Kept == nil {
		return nil
	}
	var peers []Row
	rows := map[*program]Row{}
	missing := 0
	for _, p := range g {
		if p.row.Status != "" {
			continue
		}
		row, ok := r.Kept(p.row)
		if !ok {
			missing++
			continue
		}
		rows[p] = row
	}
	if r.Peers != "" {
		if peers = r.KeptPeers(g[0].row); missing > 0 || len(peers) == 0 {
			return nil
		}
	}
	for p, row := range rows {
		p.row = row
	}
	return peers
}

// productsOf builds the GEMMs alone of the first program that has some; nil where none does.
func (r *run) productsOf(g []*program) (*program, error) {
	for _, p := range g {
		if r.NoGEMMs || len(p.products) == 0 || p.row.Status != "" {
			continue
		}
		name := spelled(p.products)
		if known := r.alone[name]; known != nil {
			return known, nil
		}
		pipeline, err := productsAlone(p.products, p.row.Ranks)
		if err != nil {
			return nil, err
		}
		alone := &program{row: Row{Case: Case{Spec: "products/" + strconv.Itoa(len(r.alone)+1) + ".yaml"}, Ranks: p.row.Ranks, Name: "products"}}
		if err := alone.print(pipeline, r.Options); err != nil {
			return nil, err
		}
		r.alone[name] = alone
		return alone, r.build(r.ctx, alone)
	}
	return nil, nil
}

// compare says how many times as fast as the baseline each of some programs is.
func compare(g []*program) {
	for _, base := range g {
		if !base.row.Baseline {
			continue
		}
		for _, p := range g {
			p.row.Against = ratio(base.row.Median, p.row.Median)
		}
	}
}

// iters is how many calls a repeat of a program has.
func (o *Options) iters(p *program) int {
	const repeat, fewest, most = 20_000.0, 5, 200 // microseconds, calls
	switch {
	case o.Iters > 0:
		return o.Iters
	case p.row.Predicted == 0:
		return fewest
	}
	return min(most, max(fewest, int(repeat/p.row.Predicted)))
}

// report is what a program writes at its end.
type report struct {
	Wrong  *int64 `json:"wrong"` // nil: nothing was checked
	Memory int64  `json:"memory_bytes"`
	Ranks  []struct {
		Name string `json:"device_name"`
	} `json:"ranks"`
	Attentions []struct {
		Reason string `json:"reason"` // why it is not cuDNN's; empty: it is
	} `json:"attentions"`
}

// tiled says why cuDNN does not compute all attentions; empty where it does.
func (r report) tiled() string {
	var reasons []string
	for _, a := range r.Attentions {
		if a.Reason != "" && !slices.Contains(reasons, a.Reason) {
			reasons = append(reasons, a.Reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// machine is what it ran on.
func (r report) machine() string {
	if len(r.Ranks) == 0 {
		return ""
	}
	return fmt.Sprintf("%d x %s", len(r.Ranks), r.Ranks[0].Name)
}

// readReport reads it; false where there is none.
func readReport(path string) (r report, ok bool) {
	text, err := os.ReadFile(path)
	return r, err == nil && json.Unmarshal(text, &r) == nil
}

// lastOf is the last line that says something.
func lastOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
