package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const withoutSchedule = `hirgen: 1
name: summed
params: {D: 2, M: 4096, N: 4096, K: 8192}
mesh: {x: D}
dtype: bf16
tensors:
  A: [DIDx, M, K/D]
  B: [DIDx, K/D, N]
ops:
  - P = matmul(A, B)
  - C = sum(P, axis=0)
`

// TestCheckSaysWhatAutoChose checks that the default is auto. For a schedule without a preset, check predicts the time
// of auto. For another preset it prints nothing about auto.
func TestCheckSaysWhatAutoChose(t *testing.T) {
	for schedule, want := range map[string][]string{
		"":                       {"  schedule: auto, predicted ", " us on h200 with "},
		"schedule: auto\n":       {"  schedule: auto, predicted "},
		"schedule: {}\n":         {"  schedule: auto is predicted to take ", " on h200\n"},
		"schedule: {streams: 2}": {"  schedule: auto is predicted to take "},
		"schedule: none\n":       {"summed: 2 ranks, 0 worker streams\n  input"},
		"schedule: eager\n":      {"summed: 2 ranks, 4 worker streams\n  input"},
	} {
		exit, out, stderr := hirgen(t, "", "check", file(t, "summed.yaml", withoutSchedule+schedule))
		for _, part := range want {
			if exit != exitOK || !strings.Contains(out, part) {
				t.Errorf("%q: exit code %d, and no %q:\n%s%s", schedule, exit, part, out, stderr)
			}
		}
		if (schedule == "schedule: none\n" || schedule == "schedule: eager\n") && strings.Contains(out, "auto") {
			t.Errorf("%q: a preset is meant, and auto is offered:\n%s", schedule, out)
		}
	}
}

// TestWriteSchedulePinsAuto checks that the file that --write-schedule writes makes the same program as auto, and that
// the spec with its text at the end is valid and chooses nothing by auto.
func TestWriteSchedulePinsAuto(t *testing.T) {
	spec, folder := file(t, "summed.yaml", withoutSchedule), t.TempDir()
	pinned := filepath.Join(folder, "pinned.yaml")
	if exit, _, stderr := hirgen(t, "", "check", spec, "--write-schedule", pinned); exit != exitOK {
		t.Fatal(stderr)
	}
	text := read(t, pinned)
	if !strings.HasPrefix(text, "# The schedule of summed") || !strings.Contains(text, "# Chosen by auto: predicted ") {
		t.Error(text)
	}
	_, auto, _ := hirgen(t, "", "lower", spec, "--calls")
	_, same, stderr := hirgen(t, "", "lower", spec, "--calls", "--schedule-file", pinned)
	if auto == "" || auto != same {
		t.Errorf("the program of\n%s\nis another one:\n%s%s\nnot\n%s", text, same, stderr, auto)
	}
	whole := file(t, "whole.yaml", withoutSchedule+text)
	if exit, out, stderr := hirgen(t, "", "check", whole); exit != exitOK || strings.Contains(out, "schedule: auto, ") {
		t.Errorf("the line at the end of the spec: exit code %d\n%s%s", exit, out, stderr)
	}
}

// TestNoSpecIsReplaced checks that the files of --write-schedule and --trace never replace a spec.
func TestNoSpecIsReplaced(t *testing.T) {
	for _, flag := range []string{"--write-schedule", "--trace"} {
		spec := file(t, "summed.yaml", withoutSchedule)
		exit, _, stderr := hirgen(t, "", "check", spec, flag, spec)
		if exit != exitUsage || !strings.Contains(stderr, "is a spec, which this would replace") || read(t, spec) != withoutSchedule {
			t.Errorf("%s: exit code %d\n%s\n%s", flag, exit, stderr, read(t, spec))
		}
	}
}

// TestCheckJSONHasAuto checks that --json has the choices of auto, or the predicted time of auto for a schedule of
// fields.
func TestCheckJSONHasAuto(t *testing.T) {
	for schedule, fields := range map[string]bool{"": false, "schedule: {streams: 2}\n": true} {
		_, out, stderr := hirgen(t, "", "check", "--json", file(t, "summed.yaml", withoutSchedule+schedule))
		var report struct {
			Auto     *struct{ Basis string } `json:"auto"`
			AutoTime *float64                `json:"auto_us"`
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatal(err, stderr)
		}
		if (report.Auto == nil) != fields || (report.AutoTime != nil) != fields || fields && *report.AutoTime < 100 {
			t.Errorf("%q: auto %v, auto_us %v", schedule, report.Auto, report.AutoTime)
		}
	}
}

// TestEmitSaysWhatAutoChose checks that emit prints the choices of auto, and so does the source of the program.
func TestEmitSaysWhatAutoChose(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	exit, text, stderr := hirgen(t, "", "emit", file(t, "summed.yaml", withoutSchedule), "-o", out)
	if exit != exitOK || !strings.HasPrefix(text, "schedule: auto, predicted ") {
		t.Errorf("exit code %d\n%s%s", exit, text, stderr)
	}
	program, err := os.ReadFile(filepath.Join(out, "summed.cpp"))
	if err != nil || !strings.Contains(string(program), "Chosen by auto: predicted ") {
		t.Errorf("%v\n%.2000s", err, program)
	}
}
