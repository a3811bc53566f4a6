package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// Options select the predictions of Run.
type Options struct {
	File     string // file name of the spec, for errors
	Text     []byte
	Params   map[string]int64
	Settings []model.Setting // settings of the schedule
	Lowering lowering.Options
	Machine  *cost.Machine
	Ranks    []int
	// Scale is the parameter that grows with the number of ranks, from its value at the spec's own number of ranks. If
	// it is empty, the problem size stays constant.
	Scale string
}

// A Row is the prediction for one number of ranks. Times are in microseconds of a call.
type Row struct {
	Ranks      int     `json:"ranks"`
	Nodes      int     `json:"nodes"`
	Scaled     int64   `json:"scaled,omitempty"`       // the value of the parameter that grows
	Refused    string  `json:"refused,omitempty"`      // why there is no prediction
	Predicted  float64 `json:"predicted_us,omitempty"` // the time of a call
	Compute    float64 `json:"compute_us"`             // time in which a rank computes, on the rank where it is longest
	Exposed    float64 `json:"exposed_us"`             // time in which a rank only communicates, on the rank where it is longest
	Efficiency float64 `json:"efficiency,omitempty"`   // relative to the first row with a prediction, which has 1
	TFLOPs     float64 `json:"tflops,omitempty"`       // TFLOP/s of a GPU's GEMMs over the whole call
	Classes    []Class `json:"classes,omitempty"`      // classes of ranks that do the same
	// Measured reports whether the machine's figures were measured on at least as many ranks. Other predictions are not
	// validated.
	Measured bool `json:"measured"`

	prediction *cost.Prediction
}

// A Class is a set of ranks that do the same. Rank is the simulated one.
type Class struct {
	Rank  int    `json:"rank"`
	Count int    `json:"count"`
	Ranks string `json:"ranks"` // "0-7", or "0, 8, ..., 56"
}

// A Result is the predictions for a list of numbers of ranks.
type Result struct {
	Program   string           `json:"program"`
	Params    map[string]int64 `json:"params"`
	Machine   string           `json:"machine"`
	Source    string           `json:"source"`         // where the machine's figures come from
	Published bool             `json:"published"`      // whether the figures come from data sheets
	Measured  int              `json:"measured_ranks"` // number of ranks up to which the figures were measured; 0: none
	Scale     string           `json:"scale,omitempty"`
	Rows      []Row            `json:"rows"`
}

// Run predicts a spec for all numbers of ranks. If hirgen refuses a number of ranks, its row has the reason. Run
// returns an error if the spec itself is wrong.
func Run(o Options) (*Result, error) {
	p, err := o.load(nil)
	if err != nil {
		return nil, err
	}
	m := o.Machine
	r := &Result{
		Program: p.Name, Params: map[string]int64{}, Machine: m.Name, Source: m.Source, Published: m.Published,
		Measured: m.MeasuredRanks(), Scale: o.Scale,
	}
	for _, param := range p.Params {
		r.Params[param.Name] = param.Value
	}
	for _, ranks := range o.Ranks {
		row := Row{Ranks: ranks, Nodes: m.NodesOf(ranks)}
		if err := o.predict(&row, p); err != nil {
			row.Refused = firstOf(err)
		} else {
			row.Measured = ranks <= r.Measured
		}
		r.Rows = append(r.Rows, row)
	}
	r.compare()
	return r, nil
}

func (o *Options) load(params map[string]int64) (*model.Pipeline, error) {
	all := map[string]int64{}
	maps.Copy(all, o.Params)
	maps.Copy(all, params)
	return model.Load(o.File, o.Text, all, o.Settings...)
}

// predict fills in a row, or returns why hirgen refuses it.
func (o *Options) predict(row *Row, base *model.Pipeline) error {
	params, err := o.paramsAt(row, base)
	if err != nil {
		return err
	}
	p, err := o.load(params)
	if err != nil {
		return err
	}
	host, err := lowering.Host(p, o.Lowering)
	if err != nil {
		return err
	}
	variants, err := lowering.OrderOf(host)
	if err != nil {
		return err
	}
	r, err := cost.Fold(variants, o.Machine)
	switch {
	case err != nil:
		return err
	case r == nil:
		return fmt.Errorf("the ranks of all classes make more than %d calls", cost.MaxCalls)
	}
	row.take(r)
	return nil
}

// paramsAt returns the parameters that differ at the number of ranks of a row. It returns an error if there is no
// parameter for the number of ranks, or if the parameter Scale would be too large or not an integer.
func (o *Options) paramsAt(row *Row, base *model.Pipeline) (map[string]int64, error) {
	own := base.Meshes[0].Size()
	params := map[string]int64{}
	if row.Ranks != own {
		name, err := base.RanksParam()
		if err != nil {
			return nil, err
		}
		params[name] = int64(row.Ranks)
	}
	for _, param := range base.Params {
		if param.Name != o.Scale {
			continue
		}
		over, product := bits.Mul64(uint64(param.Value), uint64(row.Ranks))
		if over != 0 || product>>62 != 0 || product%uint64(own) != 0 {
			return nil, fmt.Errorf("%s is %d at %d ranks, and %d / %d of that is not a whole number", o.Scale, param.Value, own, row.Ranks, own)
		}
		row.Scaled = int64(product / uint64(own))
		params[o.Scale] = row.Scaled
	}
	return params, nil
}

// take fills in a row from a prediction.
func (r *Row) take(p *cost.Prediction) {
	r.prediction = p
	r.Predicted, r.Exposed, r.Compute = p.Total, p.Exposed, p.Computes()
	flops := 0.0
	for _, product := range p.Products() {
		flops += product.Flops()
	}
	r.TFLOPs = flops / p.Total / 1e6
	for _, c := range p.Classes {
		r.Classes = append(r.Classes, Class{c.Rank, len(c.Ranks), c.Span()})
	}
}

// compare sets the efficiency of each row relative to the first row that has a prediction.
func (r *Result) compare() {
	var first *Row
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Predicted == 0 {
			continue
		}
		first = cmp.Or(first, row)
		row.Efficiency = first.Predicted / row.Predicted
		if r.Scale == "" {
			row.Efficiency *= float64(first.Ranks) / float64(row.Ranks)
		}
	}
}

// Largest returns the prediction of the last row that has one, or nil.
func (r *Result) Largest() *cost.Prediction {
	for _, row := range slices.Backward(r.Rows) {
		if row.prediction != nil {
			return row.prediction
		}
	}
	return nil
}

// firstOf returns the first error in a spec, with its position, or the text of another error.
func firstOf(err error) string {
	if found, ok := diag.Diagnostics(err); ok {
		return found.Items[0].Error()
	}
	return err.Error()
}
