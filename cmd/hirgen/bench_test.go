package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBenchAndTuneRefuse checks that bench and tune refuse wrong command lines.
func TestBenchAndTuneRefuse(t *testing.T) {
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"bench"}, exitUsage, "name a SPEC"},
		{[]string{"bench", "--cases", "none.yaml"}, exitEnvironment, "none.yaml"},
		{[]string{"bench", agMatmul, "--near", "0.5"}, exitUsage, "--near"},
		{[]string{"bench", agMatmul, "--sweep", "S"}, exitUsage, "--sweep S: write FIELD=V1,V2"},
		{[]string{"bench", agMatmul, "--sweep", "S=two"}, exitUsage, `"two" is not a 64-bit integer`},
		{[]string{"bench", agMatmul, "--rounds", "0"}, exitUsage, "at least 1"},
		{[]string{"bench", agMatmul, "--resume"}, exitUsage, "--json FILE"},
		{[]string{"bench", agMatmul, "--device", "tpu"}, exitUsage, "--device"},
		{[]string{"bench", "none.yaml"}, exitEnvironment, "none.yaml"},
		{[]string{"tune", agMatmul, "--candidates", "0"}, exitUsage, "at least 1"},
		{[]string{"tune", agMatmul, "--sizes", "M"}, exitUsage, "--sizes M: write FIELD=V1,V2"},
		{[]string{"tune", agMatmul, "-p", "Q=1"}, exitSpec, `no parameter "Q"`},
		{[]string{"tune", "none.yaml"}, exitEnvironment, "none.yaml"},
	} {
		exit, _, stderr := hirgen(t, "", c.args...)
		if exit != c.exit || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s", c.args, exit, c.exit, c.want, stderr)
		}
	}
}

// TestNothingMeasured checks that if hirgen refuses every combination, bench exits with code 3 and writes waived
// rows.
func TestNothingMeasured(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "rows.json")
	exit, stdout, stderr := hirgen(t, "", "bench", agMatmul, "--device", "cpu", "--sweep", "streams=x,y", "--json", rows)
	if exit != exitEnvironment || !strings.Contains(stdout, "nothing was measured") || strings.Count(stdout, "waived") != 2 {
		t.Errorf("exit code %d:\n%s%s", exit, stdout, stderr)
	}
	if text := read(t, rows); strings.Count(text, `"status": "waived"`) != 2 {
		t.Error(text)
	}
}

// TestScheduleFile checks that the schedule of a file replaces the spec's, flags change it, and the emitted folder
// does not need the file.
func TestScheduleFile(t *testing.T) {
	spec := filepath.Join("..", "..", "testdata", "specs", "ag_matmul_p2p", "spec.yaml")
	path := file(t, "schedule.yaml", "# measured\nschedule: {pipeline: p2p, streams: 1, all: {via: ipc-get, split: 2}}\n")
	out := filepath.Join(t.TempDir(), "out")
	exit, _, stderr := hirgen(t, "", "emit", spec, "-o", out, "--schedule-file", path, "--schedule", "all.split=4")
	if exit != exitOK {
		t.Fatal(stderr)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want := "--schedule all.split=4 --schedule all.via=ipc-get --schedule pipeline=p2p --schedule streams=1 --schedule '{}'"
	if header := read(t, filepath.Join(out, "ag_matmul_p2p.h")); !strings.Contains(header, want) {
		t.Errorf("the header does not say %q:\n%s", want, header[:400])
	}
	if exit, stdout, stderr := hirgen(t, "", "verify", out); exit != exitOK {
		t.Errorf("the folder alone: exit code %d\n%s%s", exit, stdout, stderr)
	}
	bad := file(t, "bad.yaml", "schedule:\n  streams: 1\n  streams: 2\n")
	if exit, _, stderr := hirgen(t, "", "check", spec, "--schedule-file", bad); exit != exitSpec ||
		!strings.Contains(stderr, "bad.yaml:3:3: error") || !strings.Contains(stderr, "^") {
		t.Errorf("exit code %d, want %d with the place:\n%s", exit, exitSpec, stderr)
	}
}

// TestCasesOfFiles checks that a file of --cases is one problem with several specs, and a wrong file is a usage
// error.
func TestCasesOfFiles(t *testing.T) {
	spec, err := filepath.Abs(agMatmul)
	if err != nil {
		t.Fatal(err)
	}
	path := file(t, "mine.json", `[{"name": "one", "spec": "`+spec+`", "params": {"S": 2}, "schedule": ["{}", "streams=1"]},
		{"name": "two", "spec": "there.yaml"}]`)
	cases, err := readCases(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 2 || cases[0].Group != "mine" || cases[0].Label != "one" || cases[0].Params["S"] != 2 || len(cases[0].Settings) != 2 ||
		cases[1].Spec != filepath.Join(filepath.Dir(path), "there.yaml") {
		t.Errorf("%+v", cases)
	}
	if exit, _, stderr := hirgen(t, "", "bench", "--cases", path, "--cases", path); exit != exitUsage ||
		!strings.Contains(stderr, "another file") {
		t.Errorf("twice the same: exit code %d\n%s", exit, stderr)
	}
	for text, want := range map[string]string{
		`[]`:                            "lists nothing",
		`{}`:                            "cannot unmarshal",
		`[{"name": "a"}]`:               "entry 1 needs a spec",
		`[{"name": "a", "specs": "b"}]`: `unknown field "specs"`,
		`[{"name": "a", "spec": "b", "schedule": ["streams"]}]`:         "write FIELD=VALUE",
		`[{"name": "a", "spec": "b"}, {"name": "a", "spec": "c.yaml"}]`: "entry 2 needs",
	} {
		if exit, _, stderr := hirgen(t, "", "bench", "--cases", file(t, "bad.json", text)); exit != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, want %q:\n%s", text, exit, want, stderr)
		}
	}
}

// TestBenchFrom checks that --from prints and draws recorded rows of any status, without a spec or a GPU.
func TestBenchFrom(t *testing.T) {
	rows := filepath.Join("..", "..", "internal", "tools", "bench", "testdata", "rows.json")
	page, table := filepath.Join(t.TempDir(), "page.html"), filepath.Join(t.TempDir(), "rows.csv")
	exit, stdout, stderr := hirgen(t, "", "bench", "--from", rows, "--page", page, "--csv", table)
	if exit != exitOK || !strings.Contains(stdout, "S=8 all.via=ipc-get") || !strings.Contains(stdout, "out of memory") {
		t.Errorf("exit code %d:\n%s%s", exit, stdout, stderr)
	}
	if text := read(t, page); !strings.Contains(text, "S=8 all.via=ipc-get") {
		t.Error(text)
	}
	if text := read(t, table); strings.Count(text, "\n") != 17 {
		t.Error(text)
	}
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{rows, agMatmul}, exitUsage, "measures nothing; it does not go with " + agMatmul},
		{[]string{rows, "--sweep", "S=2", "-n", "2"}, exitUsage, "does not go with --ranks, --sweep"},
		{[]string{rows, "--", "--seed", "3"}, exitUsage, "does not go with --seed, 3"},
		{[]string{"none.json"}, exitEnvironment, "none.json"},
		{[]string{file(t, "text.json", "us,wrong")}, exitUsage, "text.json is not a result of hirgen bench: invalid"},
		{[]string{file(t, "empty.json", "{}")}, exitUsage, "it has no rows"},
		{[]string{filepath.Join("..", "..", "docs", "measured", "bench_2_gpus.json")}, exitUsage, `the status of row 1 is ""`},
	} {
		exit, stdout, stderr := hirgen(t, "", append([]string{"bench", "--from"}, c.args...)...)
		if exit != c.exit || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s%s", c.args, exit, c.exit, c.want, stdout, stderr)
		}
	}
	old := file(t, "old.json", "us")
	if exit, _, stderr := hirgen(t, "", "bench", agMatmul, "--resume", "--json", old); exit != exitUsage ||
		!strings.Contains(stderr, "--json") {
		t.Errorf("--resume from what is no result: exit code %d\n%s", exit, stderr)
	}
}

// TestMeasuredPagesAreCurrent checks that the pages that the experiments link are drawn from the recorded
// measurements.
func TestMeasuredPagesAreCurrent(t *testing.T) {
	experiments, err := filepath.Glob(filepath.Join("..", "..", "docs", "experiments", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var pages [][]string
	for _, path := range experiments {
		pages = append(pages, regexp.MustCompile(`\(\.\./measured/(\w+)\.html\)`).FindAllStringSubmatch(read(t, path), -1)...)
	}
	if len(pages) == 0 {
		t.Fatal("docs/experiments links no page")
	}
	for _, link := range pages {
		measured := filepath.Join("..", "..", "docs", "measured", link[1]+".json")
		page := strings.TrimSuffix(measured, ".json") + ".html"
		converted, err := exec.Command("python3", filepath.Join("..", "..", "scripts", "bench_gpu", "pages.py"), measured).Output()
		if err != nil {
			t.Fatalf("%s: %v", measured, err)
		}
		rows, drawn := file(t, "rows.json", string(converted)), filepath.Join(t.TempDir(), "page.html")
		if exit, _, stderr := hirgen(t, "", "bench", "--from", rows, "--page", drawn); exit != exitOK {
			t.Fatalf("%s: %s", measured, stderr)
		}
		if read(t, drawn) != read(t, page) {
			t.Errorf("%[1]s.html is not current: run scripts/bench_gpu/pages.py docs/measured/%[1]s.json docs/measured/%[1]s.html", link[1])
		}
	}
}
