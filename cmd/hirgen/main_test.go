package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/lowering/hostir/text"
)

const agMatmul = "../../testdata/specs/ag_matmul/spec.yaml"

// hirgen runs one command line.
func hirgen(t *testing.T, stdin string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	exit = execute(context.Background(), args, streams{strings.NewReader(stdin), &out, &err})
	return exit, out.String(), err.String()
}

// file writes a temporary file and returns its path.
func file(t *testing.T, name, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMistakesGetACodeAndAdvice(t *testing.T) {
	bad := file(t, "bad.yaml", "hirgen: 1\nname: bad\nprams: {D: 4}\n")
	blocked := filepath.Join(file(t, "plain", ""), "out") // below a file no folder can be made
	for _, c := range []struct {
		name string
		args []string
		exit int
		want string
	}{
		{"unknown command", []string{"emti", agMatmul}, exitUsage, `unknown command "emti"`},
		{"unknown flag", []string{"lower", agMatmul, "--jsno"}, exitUsage, "unknown flag: --jsno"},
		{"no spec", []string{"lower"}, exitUsage, "missing argument SPEC"},
		{"exclusive flags", []string{"lower", agMatmul, "--json", "--calls"}, exitUsage, "[calls json]"},
		{"two specs", []string{"lower", agMatmul, agMatmul}, exitUsage, "unexpected argument"},
		{"a spec twice", []string{"check", agMatmul, agMatmul}, exitUsage, "is given twice"},
		{"a timeline of two specs", []string{"check", agMatmul, "-", "--trace", "x.json"}, exitUsage, "--trace writes the timeline of one SPEC"},
		{"usage names the help", []string{"lower"}, exitUsage, "See: hirgen lower --help"},
		{"no output", []string{"emit", agMatmul}, exitUsage, "-o OUT"},
		{"force with check", []string{"emit", agMatmul, "-o", "x", "--force", "--check"}, exitUsage, "--check writes nothing"},
		{"module without package", []string{"emit", agMatmul, "-o", "x", "--go-module", "a/b"}, exitUsage,
			"--go-module is for a Go package; add --go"},
		{"module that is none", []string{"emit", agMatmul, "-o", "x", "--go", "--go-module", "/a"}, exitUsage, "is not the path of a Go module"},
		{"parameter without value", []string{"lower", agMatmul, "-p", "M"}, exitUsage, "-p M: write NAME=VALUE"},
		{"parameter not a number", []string{"lower", agMatmul, "-p", "M=8k"}, exitUsage, `"8k" is not a 64-bit integer`},
		{"parameter too large", []string{"lower", agMatmul, "-p", "M=9223372036854775808"}, exitUsage, "is not a 64-bit integer"},
		{"parameter with a 0 in front", []string{"lower", agMatmul, "-p", "M=010"}, exitUsage,
			`-p M=010: "010" is not a plain decimal integer; write 10`},
		{"parameter in hexadecimal", []string{"lower", agMatmul, "-p", "M=0x10"}, exitUsage, "write 16"},
		{"parameter with a plus sign", []string{"lower", agMatmul, "-p", "M=+8192"}, exitUsage, "write 8192"},
		{"schedule value with a 0 in front", []string{"lower", agMatmul, "--schedule", "streams=02"}, exitSpec, "write 2"},
		{"schedule number or word with a 0 in front",
			[]string{"lower", "../../testdata/specs/ag_matmul_p2p/spec.yaml", "--schedule", "all.lead=01"}, exitSpec, "write 1"},
		{"ranks with a 0 in front", []string{"simulate", agMatmul, "-n", "8,010"}, exitUsage, "write 10"},
		{"seed with a 0 in front", []string{"run", "out", "--seed", "010"}, exitUsage, "write 10"},
		{"swept with a 0 in front", []string{"bench", agMatmul, "--sweep", "S=02"}, exitUsage, "write 2"},
		{"parameter twice", []string{"lower", agMatmul, "-p", "M=8192", "-p", "M=4096"}, exitUsage, "sets M twice"},
		{"parameter twice alike", []string{"lower", agMatmul, "-p", "M=8192", "--param", "M=8192"}, exitUsage, "sets M twice"},
		{"schedule field twice", []string{"lower", agMatmul, "--schedule", "all.via=nccl", "--schedule", "all.via=ipc-get"}, exitUsage,
			"--schedule sets all.via twice, to nccl and to ipc-get"},
		{"two presets", []string{"lower", agMatmul, "--schedule", "eager", "--schedule", "reference"}, exitUsage,
			"--schedule sets a preset twice, to eager and to reference"},
		{"flag twice", []string{"emit", agMatmul, "-o", "x", "--output", "y"}, exitUsage,
			`"-o, --output" flag: the flag is given twice, first with x`},
		{"switch twice", []string{"emit", agMatmul, "-o", "x", "--check", "--check"}, exitUsage, "the flag is given twice"},
		{"ranks twice", []string{"run", "out", "-n", "2", "-n", "4"}, exitUsage, "given twice, first with 2"},
		{"ranks not decimal", []string{"run", "out", "-n", "0x4"}, exitUsage, "not a plain decimal integer; write 4"},
		{"timeout not decimal", []string{"run", "out", "-n", "1", "--timeout", "0x1p3"}, exitUsage, "not a decimal number"},
		{"timeout not a number", []string{"run", "out", "-n", "1", "--timeout", "nan"}, exitUsage, "not a decimal number"},
		{"unknown parameter", []string{"lower", agMatmul, "-p", "KK=8"}, exitSpec, `no parameter "KK"`},
		{"nearest parameter", []string{"lower", agMatmul, "-p", "KK=8"}, exitSpec, `"K"`},
		{"schedule without value", []string{"lower", agMatmul, "--schedule", "reshard"}, exitUsage, "--schedule reshard: write FIELD=VALUE"},
		{"unknown schedule field", []string{"lower", agMatmul, "--schedule", "reshrad=after"}, exitSpec, `did you mean "reshard"?`},
		{"unknown schedule value", []string{"lower", agMatmul, "--schedule", "reshard=afte"}, exitSpec, `"after"`},
		{"unknown pass", []string{"lower", agMatmul, "--dump-after=lower-stream"}, exitUsage, `did you mean "lower-streams"?`},
		{"unknown pass to disable", []string{"lower", agMatmul, "--disable-pass=x"}, exitUsage, "see: hirgen passes"},
		{"required pass to disable", []string{"lower", agMatmul, "--disable-pass=lower-streams"}, exitUsage, "without lower-streams"},
		{"missing spec", []string{"check", "no/such/spec.yaml"}, exitEnvironment, "no/such/spec.yaml"},
		{"spec is a folder", []string{"check", "."}, exitEnvironment, "is a directory"},
		{"wrong spec", []string{"check", bad}, exitSpec, bad + ":3:1: error HG008"},
		{"caret", []string{"check", bad}, exitSpec, "prams: {D: 4}\n"},
		{"output not writable", []string{"emit", agMatmul, "-o", blocked}, exitEnvironment, filepath.Dir(blocked) + ": not a directory"},
		{"output is the root", []string{"emit", agMatmul, "-o", "/", "--force"}, exitEnvironment, `"-o out"`},
		{"output holds other files", []string{"emit", agMatmul, "-o", filepath.Dir(bad)}, exitEnvironment, `holds "bad.yaml"`},
		{"unknown code", []string{"explain", "HG999"}, exitUsage, `no error code "HG999"`},
		{"no command", []string{"run", "-n", "2", "--"}, exitUsage, "missing command after --"},
		{"no ranks of a command", []string{"run", "--", "true"}, exitUsage, "hirgen run -n RANKS -- true"},
		{"device of a command", []string{"run", "-n", "2", "--device", "cpu", "--", "true"}, exitUsage,
			"--device is for emitted folders, and true is a command"},
		{"command that is not there", []string{"run", "-n", "2", "--", "./nowhere"}, exitEnvironment, "./nowhere was not found"},
		{"command that is a folder", []string{"run", "-n", "2", "--", "."}, exitEnvironment, "hirgen run ."},
		{"file for a folder", []string{"run", bad}, exitUsage, "hirgen run -n RANKS -- " + bad},
		{"ranks of no folder", []string{"run", t.TempDir(), "--device", "cpu"}, exitEnvironment, "it has no hirgen.manifest.json"},
		{"zero ranks", []string{"run", "out", "-n", "0"}, exitUsage, "at least 1"},
		{"negative ranks", []string{"run", "out", "-n", "-2"}, exitUsage, "at least 1"},
		{"unknown device", []string{"run", "out", "-n", "1", "--device", "gpu"}, exitUsage, "cpu, cuda or auto"},
		{"seed on GPUs", []string{"run", "out", "-n", "1", "--device", "cuda", "--seed", "3"}, exitUsage, "--device cpu"},
		{"negative timeout", []string{"run", "out", "-n", "1", "--timeout", "-1"}, exitUsage, "not negative"},
		{"not an emitted folder", []string{"run", t.TempDir(), "-n", "1", "--device", "cpu"}, exitEnvironment, "hirgen emit SPEC -o"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exit, stdout, stderr := hirgen(t, "", c.args...)
			if exit != c.exit {
				t.Errorf("exit code %d, want %d", exit, c.exit)
			}
			if !strings.Contains(stderr, c.want) {
				t.Errorf("standard error lacks %q:\n%s", c.want, stderr)
			}
			if stdout != "" {
				t.Errorf("a failure prints nothing on standard output, got:\n%s", stdout)
			}
		})
	}
}

func TestLowerPrintsWhatTheParserReads(t *testing.T) {
	exit, source, stderr := hirgen(t, "", "lower", agMatmul, "-p", "S=8")
	if exit != exitOK {
		t.Fatalf("exit code %d:\n%s", exit, stderr)
	}
	program, err := text.Parse("lowered", source)
	if err != nil {
		t.Fatal(err)
	}
	if again := text.Print(program); again != source {
		t.Errorf("printing what was parsed gives another text:\n%s", again)
	}
}

func TestScheduleFlagReplacesFields(t *testing.T) {
	exit, source, stderr := hirgen(t, "", "lower", agMatmul, "--schedule", "initial_waits=fused", "--schedule", "streams=2", "--schedule",
		"reference")
	if exit != exitOK {
		t.Fatalf("exit code %d:\n%s", exit, stderr)
	}
	for _, want := range []string{"streams 2\n", "choices preset reference, initial_waits fused, streams 2\n"} {
		if !strings.Contains(source, want) {
			t.Errorf("the program lacks %q:\n%s", want, source)
		}
	}
}

func TestLowerReadsStandardInput(t *testing.T) {
	spec, err := os.ReadFile(agMatmul)
	if err != nil {
		t.Fatal(err)
	}
	exit, source, stderr := hirgen(t, string(spec), "lower", "-")
	if exit != exitOK || !strings.Contains(source, "Communication") {
		t.Errorf("exit code %d:\n%s%s", exit, source, stderr)
	}
}

func TestLowerJSONHasNameChoicesAndBody(t *testing.T) {
	_, source, _ := hirgen(t, "", "lower", agMatmul, "--json")
	var program struct {
		Name    string
		Choices struct {
			Pipeline, Joins string
			All             struct{ Via string }
		}
		Body []struct {
			Op   string
			Body []struct{ Op string }
		}
	}
	if err := json.Unmarshal([]byte(source), &program); err != nil {
		t.Fatal(err)
	}
	var ops []string
	for _, stmt := range program.Body {
		ops = append(ops, stmt.Op)
	}
	if got, want := strings.Join(ops, " "), "GetCurrentStream Allocate Allocate For For SetCurrentStream For"; program.Name != "ag_matmul" ||
		got != want {
		t.Errorf("program %q is %s, want %s", program.Name, got, want)
	}
	if program.Choices.Pipeline != "collective" || program.Choices.Joins != "after" || program.Choices.All.Via != "nccl" {
		t.Errorf("choices %+v, want pipeline collective, joins after and all via nccl", program.Choices)
	}
}

func TestDumpAfterGoesToStandardError(t *testing.T) {
	_, alone, _ := hirgen(t, "", "lower", agMatmul)
	_, source, dumps := hirgen(t, "", "lower", agMatmul, "--dump-after=all")
	if source != alone {
		t.Error("a dump changes what is printed on standard output")
	}
	for _, name := range passNames() {
		if !strings.Contains(dumps, "# after "+name+":") {
			t.Errorf("no dump after %s", name)
		}
	}
	_, _, one := hirgen(t, "", "lower", agMatmul, "--dump-after=lower-streams")
	if strings.Count(one, "# after ") != 1 {
		t.Errorf("want the dump of one pass, got:\n%s", one)
	}
}

func TestEmitWritesOnceAndGuardsEdits(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	source := filepath.Join(out, "ag_matmul.cpp")
	emit := func(want int, args ...string) string {
		t.Helper()
		exit, stdout, stderr := hirgen(t, "", append([]string{"emit", agMatmul, "-o", out}, args...)...)
		if exit != want {
			t.Fatalf("emit %v: exit code %d, want %d:\n%s%s", args, exit, want, stdout, stderr)
		}
		return stdout + stderr
	}
	emit(exitSpec, "--check")
	if said := emit(exitOK); !strings.Contains(said, "next, to build and run: hirgen run "+out+" -n 4\n") {
		t.Errorf("emit does not say what to type next: %s", said)
	}
	if source := emit(exitOK); !strings.Contains(source, "up to date") {
		t.Errorf("the second time there is nothing to write: %s", source)
	}
	emit(exitOK, "--check")
	if source := emit(exitSpec, "--check", "-p", "S=8"); !strings.Contains(source, "stale     ag_matmul.cpp") {
		t.Errorf("another parameter makes the program stale: %s", source)
	}
	if err := os.WriteFile(source, []byte("// mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if source := emit(exitEnvironment); !strings.Contains(source, "ag_matmul.cpp") || !strings.Contains(source, "--force") {
		t.Errorf("the refusal names the file and the way out: %s", source)
	}
	if source, err := os.ReadFile(source); err != nil || string(source) != "// mine\n" {
		t.Errorf("a refused emit changed the file: %q, %v", source, err)
	}
	emit(exitOK, "--force")
	emit(exitOK, "--check")
	if err := os.WriteFile(filepath.Join(out, "hirgen.manifest.json"), []byte("{\"files\": 3"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--check"}} {
		if source := emit(exitEnvironment, args...); !strings.Contains(source, "manifest.json is damaged") ||
			!strings.Contains(source, "--force") {
			t.Errorf("the refusal names the manifest and the way out: %s", source)
		}
	}
	emit(exitOK, "--force")
	emit(exitOK, "--check")
}

func TestCheckSummarises(t *testing.T) {
	exit, source, stderr := hirgen(t, "", "check", agMatmul)
	if exit != exitOK {
		t.Fatalf("exit code %d:\n%s", exit, stderr)
	}
	for _, want := range []string{"ag_matmul: 4 ranks", "input   A bf16", "output  C bf16", "4 x Allgather over mesh axis x"} {
		if !strings.Contains(source, want) {
			t.Errorf("no %q in:\n%s", want, source)
		}
	}
}

// TestCheckListsEveryCommunication covers collectives along each axis of a grid, sums by peer reads and along a
// ring, the fallback variant between nodes, and a program without communication.
func TestCheckListsEveryCommunication(t *testing.T) {
	grid := "hirgen: 1\nname: p\nmesh: {x: 2, y: 3}\ntensors:\n  A: [DIDx, DIDy, 8]\n  C: [2, DIDy, 8]\n  E: [DIDx, 3, 8]\n" +
		"ops:\n  - C = set(A)\n  - E = set(A)\n"
	sums := "hirgen: 1\nname: p\nmesh: {x: 4}\ntensors:\n  A: [DIDx, Stream(4), 8, 16]\n  B: [DIDx, 16, 8]\n  C: [DIDx, 8, 8]\n" +
		"ops:\n  - Bb = broadcast(B, axis=1)\n  - P = matmul(A, Bb)\n  - C = sum(P, axis=0)\n"
	for _, c := range []struct {
		spec  string
		args  []string
		wants []string
	}{
		{grid, nil, []string{"1 x Allgather over mesh axis x of world by NCCL", "1 x Allgather over mesh axis y of world by NCCL"}},
		{sums, []string{"--schedule", "pipeline=p2p", "--schedule", "all.via=ipc-get", "--schedule", "C.fuse=peer-read"},
			[]string{"3 x Transfer from rank to rank over mesh axis x of world by IPC-get, 128 bytes each"}},
		{sums, []string{"--schedule", "pipeline=p2p", "--schedule", "all.steps=ring", "--schedule", "transport=auto"},
			[]string{"over mesh axis x of world by IPC"}},
		{sums, []string{"--schedule", "pipeline=p2p", "--schedule", "transport=auto"}, []string{"there instead:", "by NCCL inter-node"}},
		{"hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [B = relu(A)]\n", nil, []string{"no communication"}},
	} {
		exit, source, stderr := hirgen(t, c.spec, append([]string{"check", "-"}, c.args...)...)
		for _, want := range c.wants {
			if exit != exitOK || !strings.Contains(source, want) {
				t.Errorf("%v: exit code %d, no %q in:\n%s%s", c.args, exit, want, source, stderr)
			}
		}
	}
}

func TestPassesVersionAndExplainSpeak(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"passes"}, "lower-streams"},
		{[]string{"version"}, "hirgen "},
		{[]string{"explain", "hg008"}, "HG008"},
		{nil, "Usage:"},
	} {
		exit, source, _ := hirgen(t, "", c.args...)
		if exit != exitOK || !strings.Contains(source, c.want) {
			t.Errorf("hirgen %v: exit code %d, no %q in:\n%s", c.args, exit, c.want, source)
		}
	}
}

func TestEveryCommandHelpsWithAnExample(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		checkHelp(t, cmd)
	}
}

func checkHelp(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	exit, source, _ := hirgen(t, "", cmd.Name(), "--help")
	if exit != exitOK || !strings.Contains(source, "Examples:\n  hirgen "+cmd.Name()) {
		t.Errorf("hirgen %s --help: exit code %d, no example in:\n%s", cmd.Name(), exit, source)
	}
}

func TestCompletionKnowsNames(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "lower", "--disable-pass", ""}, "lower-streams"},
		{[]string{"__complete", "run", "--device", ""}, "cuda"},
		{[]string{"__complete", "check", "--schedule", ""}, "all.via=ipc-get\twhat carries the data\n"},
		{[]string{"__complete", "explain", ""}, "HG031\ta division has a remainder\n"},
		{[]string{"__complete", "ops", ""}, "layer_norm_grad\n"},
		{[]string{"__complete", "schedule", ""}, "initial_waits\n"},
		{[]string{"completion", "bash"}, "complete"},
	} {
		if _, source, _ := hirgen(t, "", c.args...); !strings.Contains(source, c.want) {
			t.Errorf("hirgen %v: no %q in:\n%s", c.args, c.want, source)
		}
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	var out bytes.Buffer
	if exit := reportPanic(&out, "boom"); exit != exitInternal || !strings.Contains(out.String(), "internal error: boom") {
		t.Errorf("exit code %d:\n%s", exit, out.String())
	}
}

func TestExportGoPrintsAProgram(t *testing.T) {
	exit, stdout, stderr := hirgen(t, "", "export-go", agMatmul, "-p", "M=4096")
	if exit != exitOK || !strings.Contains(stdout, `b.Param("M", 4096)`) || !strings.Contains(stdout, "func main()") {
		t.Errorf("exit code %d, error %q, output\n%s", exit, stderr, stdout)
	}
}

// TestFullOutputIsAnError prints to /dev/full, a device without space.
func TestFullOutputIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, line := range []string{"--help", "run --help", "--version", "ops", "check " + agMatmul, "run -n 2 -- echo x"} {
		var stderr bytes.Buffer
		exit := execute(t.Context(), strings.Fields(line), streams{strings.NewReader(""), full, &stderr})
		if exit != exitEnvironment || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("hirgen %s: exit code %d, want %d:\n%s", line, exit, exitEnvironment, &stderr)
		}
	}
}
