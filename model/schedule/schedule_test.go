package schedule

import (
	"encoding/json"
	"testing"
)

// TestTableIsWhole checks that each field is in the table once, with documentation, a scope and one form of values, and that its
// default is a valid value or open.
func TestTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Fields {
		if seen[f.Name] || f.Doc == "" {
			t.Errorf("%s is there twice, or undocumented", f.Name)
		}
		seen[f.Name] = true
		if f.MeshAxis == (f.IsNumber() || f.Values != nil) {
			t.Errorf("%s is not one of a mesh axis, and a number or some values", f.Name)
		}
		for _, value := range []string{f.Default, f.UnderReference} {
			if value != "" && !f.Can(value) {
				t.Errorf("%s cannot be %q, its default", f.Name, value)
			}
		}
		if f.Structural && f.Scope != Communication {
			t.Errorf("%s shapes no loop", f.Name)
		}
	}
	if len(Names(Program))+len(Names(Communication)) != len(Fields) {
		t.Error("a field has no scope")
	}
}

// TestLookups checks that the value for a communication comes from its name, or else from all, or else from the preset's
// default.
func TestLookups(t *testing.T) {
	var s Schedule
	if s.Get(Joins) != After || s.Of("X", Lead) != All || s.Exchanges() {
		t.Error("defaults")
	}
	s.Set("", Preset, Reference)
	s.Set("", Pipeline, P2P)
	s.Set(All, Via, IPCPut)
	s.Set("X", Via, IPCGet)
	for path, c := range map[string][2]string{
		"joins": {s.Get(Joins), Body}, "lead": {s.Of("X", Lead), None}, "X.via": {s.Of("X", Via), IPCGet},
		"Y.via": {s.Of("Y", Via), IPCPut}, "all.via": {s.Of("", Via), IPCPut},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %s, not %s", path, c[0], c[1])
		}
	}
	copied := s
	copied.Set("X", Via, NCCL)
	if s.Of("X", Via) != IPCGet || !s.Any(Via, IPCGet) || s.Any(Via, NCCL) || !s.Names("X") || s.Names("Y") || !s.Exchanges() {
		t.Errorf("%v", s)
	}
}

// TestTogether checks that in a loop the value that one communication has by name also applies to the others, and
// precedes the value of All.
func TestTogether(t *testing.T) {
	var s Schedule
	s.Set(All, Split, "2")
	s.Set("Y", Split, "4")
	if got := s.Together([]string{"X", "Y"}, Split); got != "4" {
		t.Errorf("X and Y have %s", got)
	}
	if got := s.Together([]string{"X"}, Split); got != "2" {
		t.Errorf("X has %s", got)
	}
	x := &Facts{Name: "X", Loop: []string{"X", "Y"}, Schedule: &s, P2P: true, Ranks: 6, Axis: "x"}
	if x.Get(Split) != "4" || x.Check(Choice{Of: "X", Field: Steps, Value: Pairwise}) == nil ||
		x.Check(Choice{Of: "X", Field: Steps, Value: Ring}) != nil {
		t.Error("facts of X")
	}
}

func TestReportIsJSON(t *testing.T) {
	var s Schedule
	s.Set("", Graph, True)
	s.Set("X", Split, "4")
	text, err := json.Marshal(s.Report())
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Graph, Preset any
		All           map[string]any `json:"all"`
		X             map[string]any
	}
	if err := json.Unmarshal(text, &read); err != nil || read.Graph != true || read.Preset != nil || read.All[Split] != 1.0 ||
		read.X[Split] != 4.0 {
		t.Errorf("%s: %v", text, err)
	}
	if empty, err := json.Marshal(Object{}); string(empty) != "{}" || err != nil {
		t.Errorf("%s, %v", empty, err)
	}
}
