package eval

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// small has a small value for each parameter of the examples. Most values differ, so that a test notices swapped axes.
var small = map[string]int64{
	"D": 4, "S": 2, "M": 16, "N": 12, "K": 8, // for specs of GEMMs
	"B": 2, "L": 3, "H": 4, "C": 2, // for attentions
}

// loadSmall loads an example spec in fp32, at a size for tests.
func loadSmall(t *testing.T, name string, overrides map[string]int64) *model.Pipeline {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "..", "testdata", "specs", name, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(file), "dtype: bf16", "dtype: fp32", 1)
	values := map[string]int64{}
	for _, param := range mustLoad(t, text).Params {
		if value, ok := small[param.Name]; ok {
			values[param.Name] = value
		}
		if value, ok := overrides[param.Name]; ok {
			values[param.Name] = value
		}
	}
	p, err := model.Load("spec.yaml", []byte(text), values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// normalInputs draws every input from the normal distribution with a standard deviation of 0.7, in fp32.
func normalInputs(p *model.Pipeline, seed uint64) map[string]*Array {
	random := rand.New(rand.NewPCG(seed, 1))
	inputs := map[string]*Array{}
	for _, t := range p.Inputs {
		a := NewArray(domain.Shape(t.Axes)...)
		for i := range a.Data {
			a.Data[i] = domain.FP32.Round(random.NormFloat64() * 0.7)
		}
		inputs[t.Name] = a
	}
	return inputs
}

func mustEvaluate(t *testing.T, p *model.Pipeline, inputs map[string]*Array) map[string]*Array {
	t.Helper()
	values, err := Run(p, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// matrix is a float64 matrix. Tests compute expected results with it, without the operations of specs.
type matrix struct {
	rows, cols int
	at         []float64
}

func newMatrix(rows, cols int) matrix { return matrix{rows, cols, make([]float64, rows*cols)} }

// asMatrix reads an array as rows of the given length.
func asMatrix(a *Array, cols int64) matrix {
	return matrix{len(a.Data) / int(cols), int(cols), a.Data}
}

// columnSlices reads [d, n, k/d], a weight whose columns are split over d ranks, as [n, k].
func columnSlices(a *Array) matrix {
	d, n, k := int(a.Shape[0]), int(a.Shape[1]), int(a.Shape[2])
	m := newMatrix(n, d*k)
	for i := range a.Data {
		m.at[i/k%n*d*k+i/(n*k)*k+i%k] = a.Data[i]
	}
	return m
}

// timesTransposed returns m w^T.
func (m matrix) timesTransposed(w matrix) matrix {
	out := newMatrix(m.rows, w.rows)
	for i := range m.rows {
		for j := range w.rows {
			for k := range m.cols {
				out.at[i*w.rows+j] += m.at[i*m.cols+k] * w.at[j*w.cols+k]
			}
		}
	}
	return out
}

func (m matrix) each(fn func(v float64) float64) matrix {
	out := newMatrix(m.rows, m.cols)
	for i, v := range m.at {
		out.at[i] = fn(v)
	}
	return out
}

func (m matrix) plus(o matrix) matrix {
	out := newMatrix(m.rows, m.cols)
	for i, v := range m.at {
		out.at[i] = v + o.at[i]
	}
	return out
}

func geluOf(v float64) float64 { return v / 2 * math.Erfc(-v/math.Sqrt2) }

func layerNormOf(x matrix, gamma, beta []float64) matrix {
	out := newMatrix(x.rows, x.cols)
	for i := range x.rows {
		row, mean, variance := x.at[i*x.cols:(i+1)*x.cols], 0.0, 0.0
		for _, v := range row {
			mean += v / float64(x.cols)
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(x.cols)
		}
		for j, v := range row {
			out.at[i*x.cols+j] = (v-mean)/math.Sqrt(variance+1e-5)*gamma[j] + beta[j]
		}
	}
	return out
}

// attentionOf returns softmax(scale q k^T) v, causal, for sequences of length consecutive rows and heads of width
// adjacent columns.
func attentionOf(q, k, v matrix, length, width int, scale float64) matrix {
	out := newMatrix(q.rows, q.cols)
	for row := range q.rows {
		first := row / length * length
		for head := 0; head < q.cols; head += width {
			weights, sum := make([]float64, row-first+1), 0.0
			for j := range weights {
				for c := head; c < head+width; c++ {
					weights[j] += scale * q.at[row*q.cols+c] * k.at[(first+j)*q.cols+c]
				}
				weights[j] = math.Exp(weights[j])
				sum += weights[j]
			}
			for j, w := range weights {
				for c := head; c < head+width; c++ {
					out.at[row*q.cols+c] += w / sum * v.at[(first+j)*q.cols+c]
				}
			}
		}
	}
	return out
}

// mlpOf returns gelu(x w1^T) w2^T, with the inputs W1 and W2.
func mlpOf(x matrix, in map[string]*Array) matrix {
	return x.timesTransposed(asMatrix(in["W1"], int64(x.cols))).each(geluOf).timesTransposed(columnSlices(in["W2"]))
}

// expectClose checks that got differs from want by at most tolerance * (1 + |want|). The two were computed in different
// precisions or in different orders.
func expectClose(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Errorf("%s[%d] = %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// forwardTolerance is about a hundred times the epsilon of fp32, because the sums have at most about a hundred terms.
const forwardTolerance = 1e-5

func TestForwardPassesComputeWhatTheySay(t *testing.T) {
	for name, direct := range map[string]func(in map[string]*Array) matrix{
		"mlp_tp": func(in map[string]*Array) matrix {
			return mlpOf(asMatrix(in["X"], in["X"].last(1)), in)
		},
		"mlp_sp": func(in map[string]*Array) matrix {
			x := asMatrix(in["X"], in["X"].last(1))
			return x.plus(mlpOf(layerNormOf(x, in["gamma"].Data, in["beta"].Data), in))
		},
		"transformer_block": func(in map[string]*Array) matrix {
			x := asMatrix(in["X"], in["X"].last(1))
			u := layerNormOf(x, in["gamma1"].Data, in["beta1"].Data)
			project := func(w string) matrix { return u.timesTransposed(asMatrix(in[w], int64(u.cols))) }
			heads := attentionOf(project("Wq"), project("Wk"), project("Wv"), 3, 2, 1/math.Sqrt2)
			x1 := x.plus(heads.timesTransposed(columnSlices(in["Wo"])))
			return x1.plus(mlpOf(layerNormOf(x1, in["gamma2"].Data, in["beta2"].Data), in))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := loadSmall(t, name, nil)
			inputs := normalInputs(p, 5)
			expectClose(t, "Y", mustEvaluate(t, p, inputs)["Y"].Data, direct(inputs).at, forwardTolerance)
		})
	}
}

// slope differentiates loss by one element. The forward pass rounds to fp32, so the step is large, and the formula has
// a fourth-order error.
func slope(element *float64, loss func() float64) float64 {
	const h = 1.0 / 32
	at := *element
	defer func() { *element = at }()
	value := func(step float64) float64 {
		*element = at + step*h
		return loss()
	}
	return (8*(value(1)-value(-1)) - (value(2) - value(-2))) / (12 * h)
}

// TestBackwardPassesAreTheGradients differentiates sum(dY * Y) of the forward pass by every element of every input that
// the backward pass has a gradient of, and compares the results. The rounding to fp32 divided by the step, and the fourth
// power of the step, leave errors below the tolerance of 1e-3.
func TestBackwardPassesAreTheGradients(t *testing.T) {
	for forward, overrides := range map[string]map[string]int64{
		"mlp_tp":            {"S": 1, "M": 8},
		"transformer_block": {"B": 1},
	} {
		t.Run(forward, func(t *testing.T) {
			p := loadSmall(t, forward, overrides)
			q := loadSmall(t, forward+"_backward", overrides)
			inputs := normalInputs(p, 6)
			kept := mustEvaluate(t, p, inputs)
			given := normalInputs(q, 7)
			for name, a := range given {
				if forward := kept[name]; forward != nil {
					copy(a.Data, forward.Data)
				}
			}
			if sums := given["sums"]; sums != nil { // L of the attention, which the forward spec does not name
				Q, K := kept["Q"], kept["K"]
				a := domain.Attention{Causal: true, Scale: 1 / math.Sqrt(float64(Q.last(1)))}
				_, sums.Data = a.Forward(a.Shape(Q.Shape, K.Shape), Q.Data, K.Data, kept["V"].Data)
			}
			loss := func() float64 {
				sum := 0.0
				for i, v := range mustEvaluate(t, p, inputs)["Y"].Data {
					sum += given["dY"].Data[i] * v
				}
				return sum
			}
			values := mustEvaluate(t, q, given)
			for _, out := range q.Outputs {
				input := inputs[strings.TrimPrefix(out.Name, "d")]
				want := make([]float64, len(input.Data))
				for i := range input.Data {
					want[i] = slope(&input.Data[i], loss)
				}
				expectClose(t, out.Name, values[out.Name].Data, want, 1e-3)
			}
		})
	}
}
