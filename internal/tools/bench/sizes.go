package bench

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// sizeParam returns the parameter that scales a pipeline, or "" if there is none. It is the largest parameter in the
// first extent of the first output that has any. Parameters that are computed from others do not count, and neither do
// numbers of ranks and of stream slices.
func sizeParam(p *model.Pipeline) string {
	values := map[string]int64{}
	for _, param := range p.Params {
		if param.Text == "" {
			values[param.Name] = param.Value
		}
	}
	for _, mesh := range p.Meshes {
		for _, axis := range mesh.Axes {
			delete(values, axis.Text)
		}
	}
	for _, t := range p.Tensors {
		for _, axis := range t.Axes {
			if axis.Kind == domain.Stream {
				delete(values, axis.Text)
			}
		}
	}
	best := ""
	for _, axis := range p.Outputs[0].Axes {
		for _, name := range word.FindAllString(axis.Text, -1) {
			if value, ok := values[name]; ok && (best == "" || value > values[best]) {
				best = name
			}
		}
		if best != "" {
			break // the first axis with such a parameter counts, usually the rows
		}
	}
	return best
}

// Sizes returns half, one and two times a pipeline's own size as values of its size parameter. Without such a parameter
// it returns an empty sweep.
func Sizes(p *model.Pipeline) Sweep {
	name := sizeParam(p)
	for _, param := range p.Params {
		if param.Name == name {
			list := []string{}
			for _, n := range []int64{param.Value / 2, param.Value, 2 * param.Value} {
				list = append(list, strconv.FormatInt(n, 10))
			}
			return Sweep{name, list}
		}
	}
	return Sweep{}
}

// Load reads a spec and sets the extent of its mesh to ranks, unless ranks is 0. It returns the pipeline and every
// parameter that is not computed from others.
func Load(spec string, params map[string]int64, ranks int) (*model.Pipeline, map[string]int64, error) {
	p, _, err := load(Case{Spec: spec, Params: params}, ranks)
	if err != nil {
		return nil, nil, err
	}
	all := maps.Clone(params)
	if all == nil {
		all = map[string]int64{}
	}
	for _, param := range p.Params {
		if param.Text == "" {
			all[param.Name] = param.Value
		}
	}
	return p, all, nil
}

// Rivals returns the cases that time a schedule against schedule: auto for each size.
func Rivals(spec string, params map[string]int64, sizes Sweep, winner Candidate) ([]Case, error) {
	names := slices.Sorted(maps.Keys(params))
	list, err := Cases(spec, names, params, winner.Settings, sizesOf(sizes), "auto")
	if err != nil {
		return nil, fmt.Errorf("--sizes %w", err)
	}
	return list, nil
}

func sizesOf(s Sweep) []Sweep {
	if s.Field == "" {
		return nil
	}
	return []Sweep{s}
}

// Bought returns the speedup of a row over its baseline, and whether the difference exceeds the spread: the ranges from
// the 10th to the 90th percentile do not overlap.
func Bought(row, base Row) (gain float64, beyond bool) {
	gain = ratio(base.Median, row.Median)
	return gain, row.P90 < base.P10 || base.P90 < row.P10
}
