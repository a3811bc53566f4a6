package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/tools/soak"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/pipeline"
	"github.com/hirgen/hirgen/model"
)

// full is set by HIRGEN_TEST_FULL for a run with many more specs.
var full = os.Getenv("HIRGEN_TEST_FULL") != ""

// seedOfSpecs is the random seed of the specs.
const seedOfSpecs = 11

// countOfSpecs returns the number of random specs of a run.
func countOfSpecs() uint64 {
	if full {
		return 6000
	}
	return 400
}

// subject is a spec and its lowered programs, or the error with which it was refused.
type subject struct {
	text     string
	spec     *soak.Spec // nil: the spec is written by hand
	pipeline *model.Pipeline
	refused  error
	forms    []*form // the program, and its fallback variants for several nodes
}

// form is a variant of a host program, with its edges before pass overlap, and its happens-before orders before that pass
// and after all passes.
type form struct {
	nodes      []int // nil: ranks share memory
	program    *hostir.Program
	sequential *lowertest.HappensBefore
	edges      []pipeline.InstanceEdge
	order      *lowertest.HappensBefore
}

// newSubject lowers a spec. It returns nil without an error if the spec cannot be loaded, or does not have 2 to 8 ranks.
func newSubject(text string) (*subject, error) {
	s := &subject{text: text}
	var err error
	if s.pipeline, err = model.Load("spec.yaml", []byte(text), nil); err != nil {
		return nil, nil //nolint:nilerr,nilnil // it says nothing about schedules
	}
	if ranks := s.pipeline.Meshes[0].Size(); ranks < 2 || ranks > 8 {
		return nil, nil //nolint:nilnil // see above
	}
	program, err := lowering.Build(s.pipeline)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(lowering.Passes, func(p lowering.Pass) bool { return p.Name == "overlap" })
	s.refused = lowering.Run(program, lowering.Passes[:at], lowering.Options{Verify: true})
	if !s.accepted() {
		return s, nil
	}
	for i, p := range program.Variants() {
		f := &form{program: p}
		if i > 0 {
			f.nodes = lowertest.Partitions(p.Meshes[0].Size())[2]
		}
		if f.sequential, err = lowertest.NewHappensBefore(f.nodes, p); err != nil {
			return nil, fmt.Errorf("before overlap: %w", err)
		}
		if f.edges, err = pipeline.InstanceEdges(p); err != nil {
			return nil, err
		}
		s.forms = append(s.forms, f)
	}
	s.refused = lowering.Run(program, lowering.Passes[at:], lowering.Options{Verify: true})
	if !s.accepted() {
		return s, nil
	}
	for _, f := range s.forms {
		if f.order, err = lowertest.NewHappensBefore(f.nodes, f.program); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// brokeOne are regression specs for the properties.
var brokeOne = []string{
	// Copies must follow the joins of the caller after a loop on compute streams.
	`mesh: {x: 2, y: 2}
tensors: {P: [DIDx(2), 2, 2, 1], R: [DIDx(2), Stream(2), 1], C: [Stream(2), 2, 1]}
ops: ["R = sum(P, axis=0)", "C = set(R)"]
schedule: {pipeline: p2p, all: {via: ipc-get}}
`,
	// A transfer follows the earlier transfer of its communicator, and so the work before that transfer. This implies a join.
	`mesh: {x: 2}
tensors: {C: [Stream(2), 2, 1, 1], P: [2, DIDx(2), 2, 1]}
ops: ["Q = reshape(P, shape=[2, 2, 2, 1, 1])", "C = sum(Q, axis=1)", "T = set(Q)"]
`,
	// A rank that takes part in no transfer must also join its streams.
	`mesh: {x: 4}
meshes: {part: {axes: {x: 2}, ranks: [0, 1]}}
tensors: {A: {axes: [2, 2, 2, 2], mesh: part}, C: {axes: [Stream(2), r(2), DIDx(2), 2], mesh: part}}
ops: ["C = sum(A, axis=1)"]
schedule: {preset: reference, reshard: after, joins: after, delay: 4}
`,
}

// subjects lowers the specs for all properties, once: those in brokeOne, and random specs.
var subjects = sync.OnceValues(func() ([]*subject, error) {
	root := filepath.Join("..", "..")
	examples, err := soak.Examples(filepath.Join(root, "testdata", "specs", "*", "spec.yaml"),
		filepath.Join(root, "testdata", "grids", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var list []*subject
	for _, text := range brokeOne {
		s, err := newSubject("hirgen: 1\nname: found\ndtype: fp32\n" + text)
		if err != nil || s == nil {
			return nil, fmt.Errorf("a spec that somebody wrote: %w", err)
		}
		list = append(list, s)
	}
	for number := range countOfSpecs() {
		spec, ok := soak.Vary(examples, seedOfSpecs, number)
		if !ok || number%8 == 7 {
			spec = soak.MakeUp(seedOfSpecs, number)
		}
		s, err := newSubject(spec.Text())
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, spec.Text())
		}
		if s != nil {
			s.spec = &spec
			list = append(list, s)
		}
	}
	return list, nil
})

// holds checks a property of all subjects. It shrinks a random spec that breaks the property, for at most a minute.
func holds(t *testing.T, property func(*subject) error) {
	t.Helper()
	list, err := subjects()
	if err != nil {
		t.Fatal(err)
	}
	examine := func(spec soak.Spec) *soak.Finding {
		s, err := newSubject(spec.Text())
		if err == nil && s != nil {
			err = property(s)
		}
		if err == nil {
			return nil
		}
		return &soak.Finding{Spec: spec, Kind: "broken property", Detail: err.Error()}
	}
	for _, s := range list {
		err := property(s)
		if err != nil && s.spec == nil {
			t.Fatalf("%v\n%s", err, s.text)
		}
		if err != nil {
			small := soak.Shrink(&soak.Finding{Spec: *s.spec, Kind: "broken property", Detail: err.Error()}, examine, time.Minute)
			t.Fatalf("%s\n%s", small.Detail, small.Spec.Text())
		}
	}
}

// accepted reports whether the spec was lowered to a program.
func (s *subject) accepted() bool { return s.refused == nil }

// ofForms turns a property of forms into a property of subjects: each form of an accepted spec must have it.
func ofForms(property func(*form) error) func(*subject) error {
	return func(s *subject) error {
		if !s.accepted() {
			return nil
		}
		for _, f := range s.forms {
			if err := property(f); err != nil {
				return err
			}
		}
		return nil
	}
}
