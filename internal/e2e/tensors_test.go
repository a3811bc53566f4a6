package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/eval"
)

// TestLoadAndDumpAgreeWithTheModel gives a program its inputs in files and compares the
// outputs that it dumps with the model's evaluation of the same inputs.
func TestLoadAndDumpAgreeWithTheModel(t *testing.T) {
	dir := t.TempDir()
	pipeline := shared.emit(t, agLinear(plain), nil)
	program := shared.build(t)
	inputs, args := randomInputs(t, pipeline, dir)
	dumped := filepath.Join(dir, "C.safetensors")
	args = append(args, "--dump", "C="+dumped)
	run(t, launch.Options{Program: program, N: 4, Seed: 5, Args: append(args, brief...)}).mustPass(t)

	outputs, err := eval.Run(pipeline, inputs)
	if err != nil {
		t.Fatal(err)
	}
	got := readSafetensors(t, dumped, "C", pipeline.Outputs[0].DType)
	if err := sameArray(got, outputs["C"]); err != nil {
		t.Error(err)
	}
}

// TestASeedHasAllItsBits loads a dropout seed that fp32 cannot represent: the program, its reference and the model
// have to drop the same elements.
func TestASeedHasAllItsBits(t *testing.T) {
	const spec = "hirgen: 1\nname: layer\ndtype: fp32\nmesh: {x: 2}\ntensors: {X: [DIDx, 6, 8], seed: {axes: [1], dtype: int64}}\n" +
		"ops:\n- Y = dropout(X, seed, p=0.25)\n"
	dir, layers := t.TempDir(), folder{"layers"}
	pipeline := layers.emit(t, spec, nil)
	program := layers.build(t)
	inputs, args := randomInputs(t, pipeline, dir)
	inputs["seed"].Data[0] = 1<<40 + 3
	writeSafetensors(t, filepath.Join(dir, "seed.safetensors"), "seed", pipeline.Inputs[1].DType, inputs["seed"])
	dumped := filepath.Join(dir, "Y.safetensors")
	args = append(args, "--dump", "Y="+dumped)
	run(t, launch.Options{Program: program, N: 2, Seed: 5, Args: append(args, brief...)}).mustPass(t)
	outputs, err := eval.Run(pipeline, inputs)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameArray(readSafetensors(t, dumped, "Y", pipeline.Outputs[0].DType), outputs["Y"]); err != nil {
		t.Error(err)
	}
}

// randomInputs writes random inputs of a program into a folder. It returns them and the options that load them.
func randomInputs(t *testing.T, pipeline *model.Pipeline, dir string) (inputs map[string]*eval.Array, options []string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	inputs = map[string]*eval.Array{}
	for _, tensor := range pipeline.Inputs {
		array := randomArray(random, tensor)
		inputs[tensor.Name] = array
		path := filepath.Join(dir, tensor.Name+".safetensors")
		writeSafetensors(t, path, tensor.Name, tensor.DType, array)
		options = append(options, "--load", tensor.Name+"="+path)
	}
	return inputs, options
}

// randomArray fills a tensor with quarters between -2 and 2: every sum of their products
// is exact in fp32, so that the order of summation does not matter.
func randomArray(random *rand.Rand, tensor *model.Tensor) *eval.Array {
	a := &eval.Array{}
	size := int64(1)
	for _, axis := range tensor.Axes {
		a.Shape = append(a.Shape, axis.Size)
		size *= axis.Size
	}
	for range size {
		a.Data = append(a.Data, float64(random.IntN(17)-8)/4)
	}
	return a
}

func TestLoadNamesABadFile(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 1})
	short := filepath.Join(t.TempDir(), "short.safetensors")
	if err := os.WriteFile(short, []byte("\xff\xff\xff\xff\xff\xff\xff\x7f{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ arg, want string }{
		{"A=" + short, "short.safetensors"},
		{"A=/no/such/file", "/no/such/file"},
		{"X=" + short, "X"},
		{"A", "NAME=FILE"},
	} {
		r := run(t, launch.Options{Program: program, N: 1, Args: []string{"--load", c.arg}})
		if r.exit != 2 && r.exit != 3 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("--load %s: no %q in %s", c.arg, c.want, r)
		}
	}
}

// TestCheckpointsLoadIntoLayers runs layers with the weights of checkpoints of transformers: the first two,
// or all in a full test.
func TestCheckpointsLoadIntoLayers(t *testing.T) {
	for i, c := range []struct {
		checkpoint, spec string
		values           params
	}{
		{"llama", "specs/llama_block/spec", params{"D": 2, "L": 4, "H": 4, "G": 2, "C": 4, "F": 24}},
		{"gpt2", "layers/gpt_block", params{"H": 4}},
		{"qwen3_attention", "layers/llama_attention", params{"H": 4, "G": 2}},
		{"qwen3_mlp", "layers/llama_mlp_sp", params{"K": 16, "N": 24}},
		{"mixtral", "specs/moe_a2a/spec", params{"D": 2, "S": 2, "C": 8, "K": 16, "N": 24}},
	} {
		if !full && i > 1 {
			continue // a build takes seconds
		}
		text, err := os.ReadFile("../../testdata/" + c.spec + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		program := folder{"layers"}.make(t, renamed.ReplaceAllString(string(text), "name: layer"), c.values)
		args := append([]string{"--load-map", "../../testdata/checkpoints/" + c.checkpoint + ".json"}, brief...)
		run(t, launch.Options{Program: program, N: 2, Args: args}).mustPass(t)
	}
}

// TestJSONReportIsComplete reads the file that --json writes.
func TestJSONReportIsComplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	run(t, launch.Options{Program: program, N: 2, Args: append([]string{"--json", path}, brief...)}).mustPass(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Program string
		Ranks   []struct{ Rank int }
		Type    string
		Time    struct{ Median float64 } `json:"time_us"`
		Wrong   *int
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if report.Program != "ag_matmul" || report.Type != "bf16" || len(report.Ranks) != 2 ||
		report.Time.Median <= 0 || report.Wrong == nil || *report.Wrong != 0 {
		t.Errorf("read %+v from:\n%s", report, text)
	}
}

// TestUnknownOptionIsAUsageError passes an option that the program does not have.
func TestUnknownOptionIsAUsageError(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 1})
	r := run(t, launch.Options{Program: program, N: 1, Args: []string{"--itres", "3"}})
	if r.exit != 2 || !strings.Contains(r.stderr, "--itres") {
		t.Error(r)
	}
}
