package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model/schedule"
)

// listed returns the rows that a command prints as JSON, by the value of one key.
func listed(t *testing.T, key string, args ...string) map[string]map[string]any {
	t.Helper()
	exit, out, stderr := hirgen(t, "", append(args, "--json")...)
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); exit != exitOK || err != nil {
		t.Fatalf("%v: exit code %d, %v, %s", args, exit, err, stderr)
	}
	byName := map[string]map[string]any{}
	for _, row := range rows {
		byName[row[key].(string)] = row
	}
	return byName
}

func TestOpsAndScheduleListTheTables(t *testing.T) {
	ops := listed(t, "name", "ops")
	if len(ops) < 60 || ops["linear"]["most_operands"] != 3.0 || ops["split"]["most_results"] != 0.0 || ops["softmax"]["composite"] != true {
		t.Errorf("%d operations, linear %v, split %v, softmax %v", len(ops), ops["linear"], ops["split"], ops["softmax"])
	}
	fields := listed(t, "name", "schedule")
	for _, f := range schedule.Fields {
		if fields[f.Name]["scope"] != f.Scope.String() {
			t.Errorf("schedule --json: field %s is %v", f.Name, fields[f.Name])
		}
	}
	if fields["streams"]["high"] != 64.0 || fields["streams"]["default"] != 4.0 || fields["graph"]["default"] != false {
		t.Errorf("streams %v, graph %v", fields["streams"], fields["graph"])
	}
	if one := listed(t, "name", "schedule", "via"); len(one) != 1 {
		t.Errorf("schedule via lists %v", one)
	}
}

func TestOpsAndSchedulePrintText(t *testing.T) {
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"ops", "linear"}, exitOK, "linear(X, W)\nlinear(X, W, bias)\nlinear(X, W, dtype=fp32)\nlinear(X, W, quantize=fp8_e4m3)\n" +
			"linear(X, W, bias, quantize=fp8_e4m3)\nlinear(X, W, quantize=fp8_e4m3, block=128)\n" +
			"linear(X, W, quantize=[fp8_e5m2, fp8_e4m3])\n    X[..., k] W[n, k] transposed, plus bias[n];"},
		{[]string{"ops", "max"}, exitOK, "max(A, B)\n    element by element; axes are aligned at the end, and an axis of one element " +
			"stretches\n\nmax(A, axis=i)\n    axis i folded"},
		{[]string{"schedule", "copy"}, exitOK, "Fields of communications:\n\nall.copy: engine | sm"},
		{[]string{"schedule", "streams"}, exitOK, "Fields of the program:\n\nstreams: 0 to 64 (4)\n    number of worker streams of " +
			"pipelines; with 0 the caller's stream does the work\n"},
		{[]string{"ops", "mtmul"}, exitUsage, `there is no operation "mtmul"; did you mean "matmul"?`},
		{[]string{"schedule", "zzz"}, exitUsage, "without a name all are listed"},
	} {
		if exit, out, stderr := hirgen(t, "", c.args...); exit != c.exit || !strings.Contains(out+stderr, c.want) {
			t.Errorf("hirgen %v: exit code %d\n%s%s", c.args, exit, out, stderr)
		}
	}
}

func TestSchemaIsThePublishedOne(t *testing.T) {
	if _, out, _ := hirgen(t, "", "schema"); out != read(t, "../../docs/hirgen.schema.json") {
		t.Error("hirgen schema prints another one than docs/hirgen.schema.json")
	}
}

// TestManWritesAPageOfEveryCommand checks that man writes a page for every command, and that the
// page of schedule has its summary.
func TestManWritesAPageOfEveryCommand(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man")
	if exit, _, stderr := hirgen(t, "", "man", folder); exit != exitOK {
		t.Fatal(stderr)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	for _, cmd := range newRoot().Commands() {
		if page := "hirgen-" + cmd.Name() + ".1"; cmd.IsAvailableCommand() && !slices.Contains(names, page) {
			t.Errorf("there is no page %s among %v", page, names)
		}
	}
	if page := read(t, filepath.Join(folder, "hirgen-schedule.1")); !strings.Contains(page, "List the fields of the schedule") {
		t.Errorf("the page of schedule:\n%s", page)
	}
}
