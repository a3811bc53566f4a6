package hirgen

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schema"
)

//go:embed testdata/new/*.yaml
var examples embed.FS

// Layers lists the specs that NewSpec starts from, roughly from short to long. They are written as a person writes them, with sizes that
// run in seconds without a GPU. The parameter D of each is the number of ranks.
var Layers = []string{"ag_matmul", "matmul_rs", "matmul_ar", "mlp_tp", "swiglu_tp", "moe_a2a", "llama_mlp", "llama_block"}

// Layer reads a layer: its description in one sentence without a full stop, and its pipeline. A name that is not in Layers is an error.
func Layer(name string) (doc string, p *model.Pipeline, err error) {
	text, err := example(name)
	if err != nil {
		return "", nil, err
	}
	p, err = model.Load(name+".yaml", []byte(text), nil)
	return sentence(text), p, err
}

func example(name string) (string, error) {
	text, err := examples.ReadFile("testdata/new/" + name + ".yaml")
	if err != nil {
		return "", fmt.Errorf("there is no layer %q; there are %s", name, strings.Join(Layers, ", "))
	}
	return string(text), nil
}

// sentence returns the first sentence of the comment at the start of a spec, without the full stop.
func sentence(spec string) string {
	var comment []string
	for line := range strings.Lines(spec) {
		text, isComment := strings.CutPrefix(line, "#")
		if !isComment {
			break
		}
		comment = append(comment, strings.TrimSpace(text))
	}
	first, _, _ := strings.Cut(strings.Join(comment, " ")+" ", ". ")
	return strings.TrimSuffix(strings.TrimSpace(first), ".")
}

var (
	nameLine   = regexp.MustCompile(`(?m)^name: .*$`)
	paramsLine = regexp.MustCompile(`(?m)^params: .*$`)
	dtypeLine  = regexp.MustCompile(`(?m)^dtype: .*$`)
	gemm       = regexp.MustCompile(`(= (?:linear|matmul)\([^)]*)\)(?: {19}( ))?`) // 19 spaces are as long as ", quantize=fp8_e4m3"
)

// Types lists the element types for which NewSpec can make a layer. With FP8, the tensors are bf16, and GEMMs
// quantize their operands.
var Types = []string{"bf16", "fp16", "fp32", FP8}

// FP8 stands for GEMMs of fp8_e4m3 operands, with a scale for each row.
const FP8 = "fp8"

// NewSpec returns a spec made from a layer, with a new name, an element type and new values of some parameters. It checks that the
// spec loads and lowers. A mistake in the name or the values is a *diag.Errors, which refers to the returned text. For an unknown
// layer it returns no text.
func NewSpec(layer, name, dtype string, params map[string]int64) ([]byte, error) {
	text, err := example(layer)
	if err != nil {
		return nil, err
	}
	text = nameLine.ReplaceAllLiteralString(text, "name: "+name)
	text = paramsLine.ReplaceAllStringFunc(text, func(line string) string {
		for param, value := range params {
			line = regexp.MustCompile(`\b`+regexp.QuoteMeta(param)+`: [^,}]+`).ReplaceAllLiteralString(line, param+": "+strconv.FormatInt(value, 10))
		}
		return line
	})
	if dtype == FP8 {
		text = gemm.ReplaceAllString(text, "$1, quantize=fp8_e4m3)$2")
	} else {
		text = dtypeLine.ReplaceAllLiteralString(text, "dtype: "+dtype)
	}
	spec := []byte(schema.Line + "\n" + text)
	p, err := model.Load(name+".yaml", spec, params) // params again, to report unknown names
	if err != nil {
		return spec, err
	}
	_, err = lowering.Lower(p, lowering.Options{Verify: true})
	return spec, err
}
