package recall

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// A Subject is a correct program with its expected results.
type Subject struct {
	Name     string // "ag_matmul_p2p", "ag_matmul_p2p, all.via: ipc-get"
	Pipeline *model.Pipeline
	Program  *calls.Program
	Nodes    []int // node of each rank; nil: all ranks are on one node
	oracle   *lowertest.Oracle
	host     *hostir.Program
	variant  int // index of Program in host.Variants()
}

// sizes are small values of the parameters of specs. M, N and K differ, so that swapped extents have an effect.
var sizes = map[string]int64{
	"D": 4, "S": 4, "M": 32, "N": 24, "K": 16, "B": 2, "L": 8, "H": 16, "G": 8, "C": 4, "E": 64, "F": 32, "R": 2,
}

// schedules lists additional schedules for the point-to-point examples.
var schedules = []string{
	"all.via: nccl", "all.via: ipc-get", "all.via: ipc-put, all.lead: none, streams: 2", "all.via: ipc-get, all.signals: batched, streams: 0",
	"all.via: ipc-put, all.copy: sm", "all.via: ipc-put, all.steps: ring", "all.via: ipc-get, all.fuse: peer-read",
	"all.via: ipc-get, all.lead: 1", "all.via: ipc-put, all.split: 2, all.steps: bracket, streams: 2",
}

// Examples makes the subjects: every spec of testdata/specs and testdata/views with its own schedule, and the
// point-to-point pipelines also with other schedules. A program with a fallback variant is two subjects, the second of
// which runs on two nodes.
func Examples(root string) ([]*Subject, error) {
	files, _ := filepath.Glob(filepath.Join(root, "testdata", "specs", "*", "spec.yaml"))
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no specs in %s", root)
	}
	var list []*Subject
	views, _ := filepath.Glob(filepath.Join(root, "testdata", "views", "*", "spec.yaml"))
	for _, file := range append(files, views...) {
		made, err := subjects(file, "")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, made...)
		for _, schedule := range schedules {
			if !made[0].Pipeline.Schedule.Exchanges() {
				break
			}
			if others, err := subjects(file, schedule); err == nil { // ignores refusals, because not every pipeline can have every schedule
				list = append(list, others...)
			}
		}
	}
	return list, nil
}

// Example makes the subjects of one example spec with a schedule: "path: value, path: value", or empty.
func Example(root, name, schedule string) ([]*Subject, error) {
	return subjects(filepath.Join(root, "testdata", "specs", name, "spec.yaml"), schedule)
}

// subjects lowers a spec at a small size, and returns a subject for the program and one for its fallback variant, if any.
func subjects(file, schedule string) ([]*Subject, error) {
	spec, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(filepath.Dir(file))
	var settings []model.Setting
	if schedule != "" {
		name += ", " + schedule
		for part := range strings.SplitSeq(schedule, ", ") {
			path, value, _ := strings.Cut(part, ": ")
			settings = append(settings, model.Setting{Path: path, Value: value})
		}
	}
	pipeline, err := small(spec, settings)
	if err != nil {
		return nil, err
	}
	host, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		return nil, err
	}
	lowered, err := lowering.Calls(host, lowering.Options{})
	if err != nil {
		return nil, err
	}
	oracle, err := lowertest.OracleOf(pipeline, 1)
	if err != nil {
		return nil, err
	}
	var list []*Subject
	for i, program := range lowered.Programs() {
		s := &Subject{Name: name, Pipeline: pipeline, Program: program, oracle: oracle, host: host, variant: i}
		if i > 0 {
			s.Name += ", fallback"
			s.Nodes = make([]int, len(oracle.Inputs))
			for r := range s.Nodes {
				s.Nodes[r] = 2 * r / len(s.Nodes)
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// small loads a spec with small values of its parameters.
func small(spec []byte, settings []model.Setting) (*model.Pipeline, error) {
	whole, err := model.Load("spec.yaml", spec, nil)
	if err != nil {
		return nil, err
	}
	values := map[string]int64{}
	for _, p := range whole.Params {
		if size, ok := sizes[p.Name]; ok {
			values[p.Name] = size
		}
	}
	return model.Load("spec.yaml", spec, values, settings...)
}
