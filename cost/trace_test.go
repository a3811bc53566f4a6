package cost_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/model"
)

// predictExample predicts an example spec on the machine h200.
func predictExample(t *testing.T, name string, params map[string]int64, schedule map[string]string) *cost.Prediction {
	t.Helper()
	program, err := lowerSpec(name, params, schedule)
	if err != nil {
		t.Fatal(err)
	}
	r, err := cost.Predict(program.Programs(), h200(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// traced has the fields of a trace that the tests read.
type traced struct {
	OtherData   map[string]any
	TraceEvents []struct {
		Ph, Name, Cat, ID string
		PID, TID          int
		TS, Dur           float64
		Args              map[string]any
	}
}

// TestTraceReads checks that there are as many slices as calls, all on named tracks, slices of a track do not overlap,
// and both ends of every arrow are there.
func TestTraceReads(t *testing.T) {
	r := predictExample(t, "matmul_ar_p2p", map[string]int64{"D": 2}, map[string]string{"all.via": "ipc-get", "streams": "2"})
	var text bytes.Buffer
	if err := r.WriteTrace(&text); err != nil {
		t.Fatal(err)
	}
	var read traced
	if err := json.Unmarshal(text.Bytes(), &read); err != nil {
		t.Fatalf("%v in:\n%s", err, text.String())
	}
	slicesRead, arrows, tracks := 0, map[string]int{}, map[string]string{}
	free := map[string]float64{}
	for _, e := range read.TraceEvents {
		on := fmt.Sprint(e.PID, ".", e.TID)
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				tracks[on] = fmt.Sprint(e.Args["name"])
			}
		case "s", "f":
			arrows[e.ID]++
		case "X":
			if tracks[on] == "" {
				t.Errorf("%s is on track %s, which has no name", e.Name, on)
			}
			if e.TS < free[on]-1e-6 {
				t.Errorf("%s starts at %v, and its track is busy until %v", e.Name, e.TS, free[on])
			}
			free[on] = e.TS + e.Dur
			slicesRead++
			if where := fmt.Sprint(e.Args["where"]); !strings.HasPrefix(where, "spec.yaml:") {
				t.Errorf("%s is from %q", e.Name, where)
			}
		}
	}
	if slicesRead != len(r.Calls) || read.OtherData["predicted"] != true {
		t.Errorf("%d slices for %d calls, about %v", slicesRead, len(r.Calls), read.OtherData)
	}
	for id, ends := range arrows {
		if ends != 2 {
			t.Errorf("arrow %s has %d ends", id, ends)
		}
	}
	if len(arrows) == 0 {
		t.Error("there is no arrow")
	}
	for _, name := range []string{"caller", "compute 1", "copies"} {
		if !slices.Contains(slices.Collect(maps.Values(tracks)), name) {
			t.Errorf("no track is called %s: %v", name, tracks)
		}
	}
}

// TestNamesAreThoseOfTheProgram checks that the emitted program contains the position and name of each call. Waits may
// be missing, because the program omits redundant ones.
func TestNamesAreThoseOfTheProgram(t *testing.T) {
	specs, err := os.ReadDir("../testdata/specs")
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range specs {
		program, err := lowerFile("../testdata/specs/"+spec.Name()+"/spec.yaml", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		files, err := emit.Render(program, emit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, f := range files {
			text.Write(f.Data)
		}
		source := strings.ReplaceAll(text.String(), "\"\n    \"", "")
		r, err := cost.Predict(program.Programs(), h200(t))
		if err != nil {
			t.Fatal(err)
		}
		missing := map[string]bool{}
		for _, c := range r.Calls {
			implied := strings.HasPrefix(c.Name, "Synchronize(") || strings.HasPrefix(c.Name, "Wait(") // may be redundant
			if label := c.Pos.String() + " " + c.Name; !strings.Contains(source, label) && !implied {
				missing[label] = true
			}
		}
		for label := range missing {
			t.Errorf("%s: the program has nothing called %q", spec.Name(), label)
		}
	}
}

// TestStaysOnCaller checks that a collective that is waited for at once runs on the caller's stream. A collective that
// may overlap runs on the communicator's stream.
func TestStaysOnCaller(t *testing.T) {
	streams := func(spec string, schedule map[string]string) []string {
		program, err := lowerSpec(spec, map[string]int64{"D": 2}, schedule)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cost.Predict(program.Programs(), h200(t))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, c := range p.Calls {
			if c.Kind == cost.NCCLCall {
				found = append(found, c.Stream)
			}
		}
		return found
	}
	for spec, schedule := range map[string]map[string]string{
		"ag_matmul": {"preset": "eager", "streams": "0"}, "matmul_rs": {"preset": "eager", "streams": "0"},
		"allreduce": {"preset": "eager", "streams": "0"},
	} {
		if found := streams(spec, schedule); len(found) == 0 || slices.ContainsFunc(found, func(s string) bool { return s != "caller" }) {
			t.Errorf("%s, whole: communications run on %v", spec, found)
		}
	}
	for _, spec := range []string{"ag_matmul", "mlp_tp"} {
		if found := streams(spec, nil); len(found) == 0 ||
			slices.ContainsFunc(found, func(s string) bool { return !strings.HasPrefix(s, "communicator") }) {
			t.Errorf("%s: communications run on %v", spec, found)
		}
	}
}

// TestPathIsNoLongerThanTheCall checks that the times of the critical path add up to the time of the call, within 1 %.
// It takes each example at its sizes, and at small sizes, for some of which the host takes longest.
func TestPathIsNoLongerThanTheCall(t *testing.T) {
	specs, err := os.ReadDir("../testdata/specs")
	if err != nil {
		t.Fatal(err)
	}
	byHost := 0
	for _, spec := range specs {
		for _, small := range []bool{false, true} {
			values := map[string]int64{}
			if small {
				p, _, err := model.LoadFile("../testdata/specs/"+spec.Name()+"/spec.yaml", nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, param := range p.Params {
					if slices.Contains([]string{"M", "N", "K"}, param.Name) {
						values[param.Name] = 128
					}
				}
			}
			program, err := lowerFile("../testdata/specs/"+spec.Name()+"/spec.yaml", values, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := cost.Predict(program.Programs(), h200(t))
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, share := range r.Path() {
				sum += share.Time
			}
			if sum > r.Total*(1+1e-9) || sum < 0.99*r.Total {
				t.Errorf("%s %v: the critical path is %v us of %v", spec.Name(), values, sum, r.Total)
			}
			if r.Host == r.Total {
				byHost++
			}
		}
	}
	if byHost == 0 {
		t.Error("the host takes longest in none of the examples")
	}
}
