package lowering

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model"
)

// jsonStatement has the fields of a statement's JSON that TestStatementsOfAGLinear reads.
type jsonStatement struct {
	Op   string          `json:"op"`
	Body []jsonStatement `json:"body"`
}

func (s jsonStatement) flat() []string {
	list := []string{s.Op}
	if s.Body != nil {
		for _, inner := range s.Body {
			list = append(list, "  "+inner.Op)
		}
	}
	return list
}

// TestStatementsOfAGLinear checks the order of the statements with preset: reference, which joins in the body, for
// both values of initial_waits.
func TestStatementsOfAGLinear(t *testing.T) {
	start := []string{"GetCurrentStream", "Allocate", "Allocate"}
	work := []string{"  Select", "  Select", "  Communication", "  Wait", "  Select", "  Linear", "  SetCurrentStream", "  Synchronize"}
	want := map[string][]string{
		"split": slices.Concat(start, []string{"For", "  SetCurrentStream", "  Synchronize", "For", "  SetCurrentStream"}, work),
		"fused": slices.Concat(start, []string{"For", "  SetCurrentStream", "  Synchronize"}, work),
	}
	for sync, want := range want {
		program, err := Host(referenceProgram(agLinear(small(2, 8)), sync), Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		printed, err := text.JSON(program)
		if err != nil {
			t.Fatal(err)
		}
		var read struct {
			Name string          `json:"name"`
			Body []jsonStatement `json:"body"`
		}
		if err := json.Unmarshal(printed, &read); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range read.Body {
			got = append(got, s.flat()...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", sync, diff)
		}
	}
}

// TestStatementsOfPointToPoint checks the order of the statements of point-to-point pipelines with preset: reference,
// which copies the local shard.
func TestStatementsOfPointToPoint(t *testing.T) {
	start := []string{
		"Allocate", "Allocate", "GetCurrentStream", "For", "  SetCurrentStream", "  Synchronize",
		"For", "  SetCurrentStream", "  Select", "  If", "    Select", "    Set", "  Else",
	}
	end := []string{"  SetCurrentStream", "  Synchronize"}
	for _, c := range []struct {
		spec, transport string
		step            []string
	}{
		{"ag_matmul_p2p", "nccl", []string{
			"    StartCoalescing", "    P2PCommunication recv NCCL", "    P2PCommunication send NCCL", "    EndCoalescing", "    Wait",
			"  Select", "  Matmul",
		}},
		{"ag_linear_p2p", "ipc-get", []string{
			"    ShareMemHandles", "    P2PCommunication send IPC-get", "    P2PCommunication recv IPC-get", "    Wait", "    Wait",
			"  Select", "  Select", "  Linear",
		}},
		{"ag_linear_p2p", "ipc-put", []string{
			"    ShareMemHandles", "    P2PCommunication recv IPC-put", "    P2PCommunication send IPC-put", "    Wait", "    Wait",
			"  Select", "  Select", "  Linear",
		}},
	} {
		for _, s := range specTexts(t) {
			if s.name != c.spec {
				continue
			}
			p := s.onMesh(t, "{x: D}", sizes(4, 1))
			choose(&p.Schedule, "preset reference, local_shard copied, all.via "+c.transport)
			if diff := cmp.Diff(slices.Concat(start, c.step, end), statements(t, p)); diff != "" {
				t.Errorf("%s, %s: -want +got:\n%s", c.spec, c.transport, diff)
			}
		}
	}
}

// referenceProgram sets preset: reference and initial_waits in the schedule of a pipeline, and returns the pipeline.
func referenceProgram(p *model.Pipeline, waits string) *model.Pipeline {
	choose(&p.Schedule, "preset reference, initial_waits "+waits)
	return p
}

// statements lowers a pipeline and lists the statements in its JSON. Nested statements are indented.
func statements(t *testing.T, p *model.Pipeline) []string {
	t.Helper()
	program, err := Host(p, Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	printed, err := text.JSON(program)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Body []nestedStatement `json:"body"`
	}
	if err := json.Unmarshal(printed, &read); err != nil {
		t.Fatal(err)
	}
	return flatten(read.Body, "")
}

type nestedStatement struct {
	Op, Type, Backend string
	Body, Else        []nestedStatement
}

func flatten(body []nestedStatement, indent string) []string {
	var list []string
	for _, s := range body {
		list = append(list, strings.TrimRight(indent+strings.Join([]string{s.Op, s.Type, s.Backend}, " "), " "))
		list = append(list, flatten(s.Body, indent+"  ")...)
		if len(s.Else) > 0 {
			list = append(append(list, indent+"Else"), flatten(s.Else, indent+"  ")...)
		}
	}
	return list
}
