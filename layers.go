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

// Layers are the specs that NewSpec begins from, small ones first, in the form in which a person writes them and with sizes
// that run in seconds without a GPU. The parameter D of each is the number of ranks.
var Layers = []string{"ag_matmul", "matmul_rs", "matmul_ar", "mlp_tp", "swiglu_tp", "moe_a2a", "llama_mlp", "llama_block"}

// Layer reads one of them: what it is, in a sentence, and its pipeline.
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

// sentence is the first one of the comment that a spec begins with.
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
)

// NewSpec begins a spec from a layer, with a name and other values of some parameters. It loads and lowers: what is wrong
// with the name or the values is a *diag.Errors, about the text that comes with it.
func NewSpec(layer, name string, params map[string]int64) ([]byte, error) {
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
	spec := []byte(schema.Line + "\n" + text)
	p, err := model.Load(name+".yaml", spec, params) // params again: they report names that there are not
	if err != nil {
		return spec, err
	}
	_, err = lowering.Lower(p, lowering.Options{Verify: true})
	return spec, err
}
