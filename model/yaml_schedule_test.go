package model_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/model"
)

// TestScheduleFile checks that a printed schedule can be read back, and that it replaces the whole schedule of a spec.
func TestScheduleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schedule.yaml")
	for text, want := range map[string][]model.Setting{
		"schedule: {pipeline: p2p, streams: 2, all: {via: ipc-get}, A: {split: 2}}\n": {
			{Value: model.Defaults}, {Path: "pipeline", Value: "p2p"}, {Path: "streams", Value: "2"}, {Path: "all.via", Value: "ipc-get"},
			{Path: "A.split", Value: "2"},
		},
		"schedule: {preset: eager}\n": {{Value: model.Defaults}, {Path: "preset", Value: "eager"}},
		"schedule: {}\n":              {{Value: model.Defaults}},
	} {
		if err := os.WriteFile(path, []byte("# measured\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := model.LoadSchedule(path)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
		if printed, err := model.PrintSchedule(got); err != nil || printed != text {
			t.Errorf("%q is printed as %q, %v", text, printed, err)
		}
	}
	spec := filepath.Join("..", "testdata", "specs", "ag_matmul_p2p", "spec.yaml")
	p, _, err := model.LoadFile(spec, nil, model.Setting{Value: model.Defaults}, model.Setting{Path: "streams", Value: "3"})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Schedule.Choices) != 1 || p.Schedule.Choices[0].String() != "streams: 3" {
		t.Errorf("the schedule is %v", p.Schedule.Choices)
	}
}

// TestScheduleFilesThatAreRefused checks that each mistake has its position in the file.
func TestScheduleFilesThatAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schedule.yaml")
	for text, want := range map[string]string{
		"streams: 2\n":              ":1:1: error HG008: the file has no field \"streams\"",
		"schedule: [a]\n":           ":1:11: error",
		"schedule: {a: 1, a: 2}\n":  ":1:18: error",
		"schedule: {\n":             ":1:11: error",
		"hirgen: 1\nschedule: {}\n": ":1:1: error HG008",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := model.LoadSchedule(path)
		if err == nil || len(err.Error()) < len(path) || !strings.HasPrefix(err.Error()[len(path):], want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := model.LoadSchedule(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
}
