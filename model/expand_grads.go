package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// logSoftmaxGrad(dY, Y) = dY - exp(Y) (sum of dY), with Y the result of the log_softmax.
func logSoftmaxGrad(e *expansion) {
	dy, y := e.arg(0), e.arg(1)
	e.result("sub", dy, e.step("drawn", "mul", []string{e.step("exp", "exp", []string{y}), e.fold("sum", "sum", dy)}))
}

// rmsNormGrad(dY, X, gamma), with Y = X r and r = 1 / sqrt(mean of X squared + eps), has up to two results. The gradient
// with respect to X is r (G - Y (mean of G Y)) for G = dY gamma, or G = dY without gamma. The gradient with respect to
// gamma is the sum of dY Y over rows.
func rmsNormGrad(e *expansion) {
	if !e.rows() {
		return
	}
	dy, x := e.arg(0), e.arg(1)
	rstd := e.perRoot(x)
	y := e.step("y", "mul", []string{x, rstd})
	g := dy
	if len(e.op.In) > 2 {
		g = e.step("scaled", "mul", []string{dy, e.arg(2)})
	}
	along := e.mean("along", e.step("weighted", "mul", []string{g, y}))
	away := e.step("away", "sub", []string{g, e.step("radial", "mul", []string{y, along})})
	e.gradient("mul", rstd, away)
	e.parameter(1, func() string { return e.step("gamma", "mul", []string{dy, y}) })
}

// layerNormGrad(dY, X, gamma), with Y = (X - mean X) r and r = 1 / sqrt(variance of X + eps), has up to three results. The
// gradient with respect to X is r (G - mean G - Y (mean of G Y)) for G = dY gamma. The gradient with respect to gamma
// is the sum of dY Y over rows, and with respect to beta the sum of dY over rows.
func layerNormGrad(e *expansion) {
	if !e.rows() {
		return
	}
	dy := e.arg(0)
	centered, rstd := e.normalized(e.arg(1))
	y := e.step("y", "mul", []string{centered, rstd})
	g := e.step("scaled", "mul", []string{dy, e.arg(2)})
	along := e.mean("along", e.step("weighted", "mul", []string{g, y}))
	away := e.step("away", "sub", []string{g, e.mean("g", g)})
	e.gradient("mul", rstd, e.step("tangent", "sub", []string{away, e.step("radial", "mul", []string{y, along})}))
	e.parameter(1, func() string { return e.step("gamma", "mul", []string{dy, y}) })
	e.parameter(2, func() string { return dy })
}

// rows checks that dY of a norm has the shape of the norm's operand, and sets e.axis to the last axis. If the gradient of
// a parameter is requested, gamma must have a value for each element of a row.
func (e *expansion) rows() bool {
	dy, x := e.op.In[0], e.op.In[1]
	shape := domain.Shape(x.Axes)
	e.axis = len(shape) - 1
	switch of := len(e.src.more); {
	case !slices.Equal(domain.Shape(dy.Axes), shape):
		e.fail(diag.ShapeMismatch, "%s has the shape %s, and %s %s: a gradient has that of its tensor", dy.Name,
			domain.FormatShape(domain.Shape(dy.Axes)), x.Name, domain.FormatShape(shape))
	case of > 0 && (len(e.op.In) < 3 || len(shape) < 2 || !slices.Equal(domain.Shape(e.op.In[2].Axes), shape[e.axis:])):
		e.a.list.Add(e.src.more[0].pos, diag.BadOperands,
			"the further results of %s are gradients of parameters with one value for each element of a row", e.src.fn.value).
			WithHint("write dX, dgamma = %s(dY, X, gamma), with gamma: [%s] for X: [M, %[2]s]", e.src.fn.value, x.Axes[len(x.Axes)-1].Extent)
	default:
		return true
	}
	e.broken()
	return false
}

// gradient adds the operation that computes the first result, and rounds it to the type of operand 1, the tensor whose
// gradient it is.
func (e *expansion) gradient(fn string, args ...string) {
	out := e.src.out.value
	if dtype := e.op.In[1].DType; dtype != domain.FP32 {
		e.add(out, "cast", []string{e.step(fn, fn, args)}, []string{"dtype", string(dtype)})
		return
	}
	e.add(out, fn, args, nil)
}

// parameter computes another result, the gradient of a parameter, if the spec requests it. The gradient is the sum of
// values over all rows: first over the rows of a rank, then over ranks.
func (e *expansion) parameter(result int, values func() string) {
	if result > len(e.src.more) {
		return
	}
	out, dtype := e.src.more[result-1].value, e.op.In[2].DType
	axes, sum := e.axesOf(1)[:e.axis], values()
	for _, split := range []bool{false, true} {
		for i := len(axes) - 1; i >= 0; i-- {
			if (axes[i].Kind == domain.Device) != split {
				continue
			}
			axes = slices.Delete(axes, i, i+1)
			name := out
			if len(axes) > 0 || dtype != domain.FP32 {
				name = e.fresh(out + "_sum")
			}
			e.add(name, "sum", []string{sum}, []string{"axis", strconv.Itoa(i)})
			sum = name
		}
	}
	if sum != out {
		e.add(out, "cast", []string{sum}, []string{"dtype", string(dtype)})
	}
}
