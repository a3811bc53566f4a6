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

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/tools/launch"
)

// Options configure a measurement.
type Options struct {
	Ranks     int           // size of the meshes; 0: as in the specs
	Device    launch.Device // CPU or CUDA, never Auto
	Machine   *cost.Machine // machine of the predictions; nil: h200, and schedule: auto prefers measurements to predictions
	Version   string        // version of hirgen
	Work      string        // folder for programs; they are not deleted
	CMake     []string      // additional entries of the CMake cache
	Rounds    int           // number of rounds; a round times each ready program once, unless Near skips it
	Repeats   int           // repeats of a program in a round
	Iters     int           // calls in a repeat; 0: 5 to 200, predicted to take 20 ms; 5 without a prediction
	Together  int           // most programs that are ready at the same time; 0: all of a problem
	Starting  int           // most programs that start and check themselves at the same time; 0: all
	Jobs      int           // programs to lower or build at the same time; 0: one
	Near      float64       // programs slower than the fastest by this factor skip the later rounds; 0: none skips
	NoGEMMs   bool          // do not time the GEMMs alone
	Peers     string        // command that times other libraries in the same rounds (see peers.go); "": none
	Arguments []string      // additional arguments of the programs
	Progress  Progress
	// Kept returns a row of an earlier run of the same program, label, ranks and device, which need not be measured
	// again (see keep). nil: measure everything.
	Kept func(Row) (Row, bool)
	// KeptPeers returns the rows of peers of an earlier run for the problem of a row.
	KeptPeers func(Row) []Row
	// Done receives the rows of compared programs, and then the rows of their peers, when all are complete. If it returns
	// an error, Run stops.
	Done func(Row) error
}

// Progress is called with the number of finished steps, the number of all steps, and the next step, which may be empty.
type Progress func(done, all int, next string)

// Time limits of a program: to start and check itself, to time a round, and to end.
const (
	startLimit = 10 * time.Minute
	roundLimit = 5 * time.Minute
	endLimit   = time.Minute
)

// Run measures cases, in groups of the same problem. A program that fails is a row with status Failed. Run returns
// an error if the environment, ctx or Done stops it.
func Run(ctx context.Context, cases []Case, o Options) error {
	r := &run{Options: &o, ctx: ctx, alone: map[string]*program{}}
	groups, err := until(ctx, func() [][]*program { return o.groups(cases) })
	if err != nil {
		return err
	}
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

// groups lowers the cases and groups their programs to be measured together: programs of one problem, at most o.Together.
func (o *Options) groups(cases []Case) [][]*program {
	var groups [][]*program
	at := map[string]int{} // index of the last group of each problem
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

// run is the state of one call of Run or Tune.
type run struct {
	*Options
	ctx       context.Context
	done, all int
	alone     map[string]*program // programs that run GEMMs alone, by the number of ranks and the list of GEMMs
	mutex     sync.Mutex          // protects done
}

// step adds n finished steps and reports the next one.
func (r *run) step(n int, next string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.done += n
	if r.Progress != nil {
		r.Progress(r.done, r.all, next)
	}
}

// group measures the programs of one problem in alternating rounds.
func (r *run) group(g []*program) error {
	peers := r.keep(g)
	wanted := lists.Except(g, func(p *program) bool { return p.row.Status != "" })
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

// keep replaces the rows of programs that an earlier run measured by the rows of that run, and returns the rows of that
// run's peers. With Peers set it keeps every row or none, because programs are compared only with peers of the same
// run.
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

// productsOf builds a program that runs only the GEMMs of the first program that has any and was built, or returns an
// earlier program for the same GEMMs and ranks. It returns nil if there are no such GEMMs, or with NoGEMMs.
func (r *run) productsOf(g []*program) (*program, error) {
	for _, p := range g {
		if r.NoGEMMs || len(p.products) == 0 || p.row.Status != "" {
			continue
		}
		name := fmt.Sprintf("%d ranks: %s", p.row.Ranks, spelled(p.products))
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

// compare sets the speedup of each program over the baseline.
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

// iters returns the number of calls of a repeat of a program.
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

// report is the file that a program writes at its end.
type report struct {
	Wrong  *int64 `json:"wrong"` // nil: nothing was checked
	Memory int64  `json:"memory_bytes"`
	Ranks  []struct {
		Name string `json:"device_name"`
	} `json:"ranks"`
	Attentions []struct {
		Reason string `json:"reason"` // why cuDNN does not compute it; empty: cuDNN does
	} `json:"attentions"`
}

// tiled returns the reasons why cuDNN does not compute all attentions. It is empty if cuDNN does.
func (r report) tiled() string {
	var reasons []string
	for _, a := range r.Attentions {
		if a.Reason != "" && !slices.Contains(reasons, a.Reason) {
			reasons = append(reasons, a.Reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// machine describes the devices that the program ran on.
func (r report) machine() string {
	if len(r.Ranks) == 0 {
		return ""
	}
	return fmt.Sprintf("%d x %s", len(r.Ranks), r.Ranks[0].Name)
}

// readReport reads a report. ok is false if there is no valid report.
func readReport(path string) (r report, ok bool) {
	text, err := os.ReadFile(path)
	return r, err == nil && json.Unmarshal(text, &r) == nil
}

// lastOf returns the last line that is not blank.
func lastOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
