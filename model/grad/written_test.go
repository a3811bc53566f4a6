package grad_test

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// backwardPasses has the specs in testdata whose backward passes are in testdata/layers, with values of parameters that
// suit 2, 3 and 4 ranks. End-to-end tests run these backward passes.
var backwardPasses = map[string]map[string]int64{
	"layers/gpt_block.yaml":             nil,
	"layers/gpt_block_sp.yaml":          nil,
	"layers/gpt_block_dropout.yaml":     nil,
	"layers/fp8_mlp.yaml":               nil,
	"layers/fp8_blocks.yaml":            nil,
	"layers/llama_mlp_sp.yaml":          nil,
	"layers/llama_attention.yaml":       nil,
	"layers/llama_attention_sp.yaml":    nil,
	"specs/llama_mlp/spec.yaml":         {"M": 12, "K": 12, "N": 24},
	"specs/llama_block/spec.yaml":       {"B": 2, "L": 6, "H": 24, "G": 12, "C": 2, "F": 48},
	"specs/llama_block_sp/spec.yaml":    {"B": 2, "L": 6, "H": 24, "G": 12, "C": 2, "F": 48},
	"specs/transformer_block/spec.yaml": {"B": 2, "L": 6, "H": 12, "C": 2},
	"specs/mlp_tp/spec.yaml":            {"S": 2, "M": 24, "K": 12},
	"specs/mlp_sp/spec.yaml":            {"M": 24, "K": 12},
}

// TestWrittenBackwardPasses compares the backward passes of these specs with those in testdata/layers.
func TestWrittenBackwardPasses(t *testing.T) {
	for path, values := range backwardPasses {
		values = maps.Clone(values)
		if values == nil {
			values = map[string]int64{}
		}
		values["D"] = 2
		p, _, err := model.LoadFile("../../testdata/"+path, values)
		if err != nil {
			t.Fatal(err)
		}
		pass, err := grad.Backward(p, grad.Options{Axes: axesOf(p)})
		if err != nil {
			t.Fatal(err)
		}
		file := "../../testdata/layers/" + p.Name + "_backward.yaml"
		compareWritten(t, pass, file)
	}
}

// compareWritten compares a backward pass with a file, or with -update writes the file. The file may have another
// schedule, with Stream axes that belong to it.
func compareWritten(t *testing.T, pass *grad.Pass, file string) {
	t.Helper()
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, schedule, _ := strings.Cut(string(have), "schedule:")
	if schedule != "" && !strings.Contains(pass.Text, "Stream(") {
		text = regexp.MustCompile(`Stream\((\w+)\)`).ReplaceAllString(text, "$1")
	}
	written, own, _ := strings.Cut(pass.Text, "schedule:")
	switch {
	case text == written && (schedule != "" || own == ""):
	case flag.Lookup("update").Value.String() != "true": // package lowertest defines the flag
		t.Errorf("%s is not what hirgen grad writes; go test ./model/grad -run %s -update", file, t.Name())
	case schedule != own && schedule != "":
		t.Errorf("%s has a schedule of its own: write it anew by hirgen grad, and add that by hand", file)
	default:
		if err := os.WriteFile(file, []byte(pass.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
