package provetest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// Drawn is a spec with a random schedule.
type Drawn struct {
	Programs []*calls.Program
	What     string // the chosen settings or, without programs, the reason why there are none
	path     string
	params   map[string]int64
}

// Load loads the model with the drawn parameters, of which params replaces some.
func (d *Drawn) Load(params map[string]int64) (*model.Pipeline, error) {
	all := maps.Clone(d.params)
	if all == nil {
		all = map[string]int64{}
	}
	maps.Copy(all, params)
	p, _, err := model.LoadFile(d.path, all)
	return p, err
}

// Draw lowers a spec with a random schedule. If a parameter is the extent of the only mesh axis, Draw sets it to 2, 4
// or 8, and it sets a parameter S to 1, 2, 4 or 8. While lowering fails, Draw drops the settings that the error is about,
// or else these parameters, or else the first of the other settings.
func Draw(path string, seed uint64) *Drawn {
	random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // tests repeat
	settings := drawSettings(random)
	params := drawParams(path, random)
	for {
		programs, err := Lower(path, params, settings...)
		if err == nil {
			return &Drawn{programs, describe(params, settings), path, params}
		}
		if kept := accepted(settings, err); len(kept) < len(settings) {
			settings = kept
			continue
		}
		if len(params) == 0 {
			if len(settings) == 0 {
				return &Drawn{What: err.Error()}
			}
			settings = settings[1:]
		}
		params = nil // they may not divide the sizes of the spec
	}
}

// drawSettings chooses a value for about half of the fields, but for none that takes a mesh axis. A number is the lowest
// that the field takes, at least 1, doubled any number of times up to 8.
func drawSettings(random *rand.Rand) []model.Setting {
	var list []model.Setting
	for _, f := range schedule.Fields {
		values := f.ValueNames()
		if f.IsNumber() {
			for n := max(f.Low, 1); n <= min(f.High, 8); n *= 2 {
				values = append(values, strconv.FormatInt(n, 10))
			}
		}
		if f.MeshAxis || random.IntN(2) == 0 {
			continue
		}
		path := f.Name
		if f.Scope == schedule.Communication {
			path = schedule.All + "." + path
		}
		value := values[random.IntN(len(values))]
		if f.Name == schedule.Preset {
			list = append([]model.Setting{{Path: "", Value: value}}, list...)
			continue
		}
		list = append(list, model.Setting{Path: path, Value: value})
	}
	return list
}

func drawParams(path string, random *rand.Rand) map[string]int64 {
	p, _, err := model.LoadFile(path, nil)
	if err != nil {
		return nil
	}
	params := map[string]int64{}
	if len(p.Meshes) == 1 && len(p.Meshes[0].Axes) == 1 {
		if name, ok := p.Meshes[0].Axes[0].Expr().(expr.Var); ok {
			params[string(name)] = []int64{2, 4, 8}[random.IntN(3)]
		}
	}
	if slices.ContainsFunc(p.Params, func(d model.Param) bool { return d.Name == "S" }) {
		params["S"] = []int64{1, 2, 4, 8}[random.IntN(4)]
	}
	return params
}

// accepted returns the settings without those that an error is about.
func accepted(settings []model.Setting, err error) []model.Setting {
	errs, ok := diag.Diagnostics(err)
	if !ok {
		return settings
	}
	kept := slices.Clone(settings)
	for _, d := range errs.Items {
		path, _, _ := strings.Cut(strings.TrimPrefix(d.Message, "schedule."), ":")
		field := path[strings.LastIndexByte(path, '.')+1:]
		kept = slices.DeleteFunc(kept, func(s model.Setting) bool { return s.Path == field || strings.HasSuffix(s.Path, "."+field) })
	}
	return kept
}

func describe(params map[string]int64, settings []model.Setting) string {
	var words []string
	for name, value := range params {
		words = append(words, "-p "+name+"="+strconv.FormatInt(value, 10))
	}
	slices.Sort(words)
	for _, s := range settings {
		words = append(words, "--schedule "+strings.TrimPrefix(s.Path+"="+s.Value, "="))
	}
	return strings.Join(words, " ")
}
