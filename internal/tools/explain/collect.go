package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/passes"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/textdiff"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	hosttext "github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Input is a spec, with a way to read it again under another schedule.
type Input struct {
	Text     []byte
	Pipeline *model.Pipeline
	Load     func(settings ...model.Setting) (*model.Pipeline, error) // nil: other schedules are not predicted
	Machine  *cost.Machine                                            // machine for which times are predicted
	Options  lowering.Options                                         // Machine is set if auto prefers predictions to measurements
	Emit     emit.Options
}

// Collect lowers a spec and records the output of each stage. It returns errors of lowering, of emit and of the
// prediction.
func Collect(in Input) (*Page, error) {
	p := in.Pipeline
	page := &Page{Name: p.Name, Spec: p.File, Lines: plain(string(in.Text)), Model: modelLines(p)}
	program, lowered, err := page.stages(in)
	if err != nil {
		return nil, err
	}
	graph, err := lowering.TaskGraph(p, in.Options.Machine)
	if err != nil {
		return nil, err
	}
	page.Graph = layOutGraph(graph, in.Machine)
	if err := page.sources(lowered, in.Emit); err != nil {
		return nil, err
	}
	predicted, err := cost.Predict(lowered.Programs(), in.Machine)
	if err != nil {
		return nil, err
	}
	page.notes(program)
	if err := page.moves(program, in.Machine); err != nil {
		return nil, err
	}
	if given := strings.Join(in.Emit.Flags, " "); given != "" {
		page.Summary = []Fact{{"given", given}}
	}
	page.summary(program, predicted)
	page.alternatives(in, program, predicted)
	return page, nil
}

// plain returns the lines of a text. The origin of each line of the spec is the line itself.
func plain(text string) []Line {
	var list []Line
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		list = append(list, Line{Number: i + 1, Text: line, From: []int{i + 1}})
	}
	return list
}

// modelLines returns the parameters, tensors and operations of the model, each with the line of the spec that declares
// it.
func modelLines(p *model.Pipeline) []Line {
	var list []Line
	add := func(line int, text string) {
		l := Line{Number: len(list) + 1, Text: text}
		if line > 0 {
			l.From = []int{line}
		}
		list = append(list, l)
	}
	for _, param := range p.Params {
		add(param.Pos.Line, fmt.Sprintf("param   %s = %d", param.Name, param.Value))
	}
	role := map[*model.Tensor]string{}
	for _, t := range p.Inputs {
		role[t] = "input "
	}
	for _, t := range p.Outputs {
		role[t] = "output"
	}
	for _, t := range p.Tensors {
		if role[t] == "" {
			role[t] = "tensor"
		}
		held := make([]int64, len(t.Axes))
		for i, a := range t.Axes {
			held[i] = a.LocalSize()
		}
		add(t.Pos.Line, fmt.Sprintf("%s  %s: %s %s, one rank holds %s", role[t], t.Name, t.DType, domain.FormatAxes(t.Axes),
			hosttext.Numbers(held)))
	}
	for _, op := range p.Written {
		add(op.Pos.Line, "op      "+op.String())
	}
	return list
}

// stages lowers the pipeline, and notes the program after each pass.
func (page *Page) stages(in Input) (*hostir.Program, *calls.Described, error) {
	why := map[string]string{
		"build":              "one statement for each operation of the model",
		lowering.Translating: "each statement of the host IR becomes calls of CUDA, NCCL or cuBLASLt",
	}
	for _, pass := range lowering.Passes {
		why[pass.Name] = pass.Why
	}
	for _, pass := range passes.Passes {
		why[pass.Name] = pass.Why
	}
	options, ir, last := in.Options, "host IR", ""
	options.DumpAfter = func(pass, text string, _ bool) {
		if pass == lowering.Translating {
			ir, last = "call IR", ""
		}
		page.stage(ir, pass, why[pass], last, text)
		last = text
	}
	host, err := lowering.Host(in.Pipeline, options)
	if err != nil {
		return nil, nil, err
	}
	lowered, err := lowering.Calls(host, options)
	return host, lowered, err
}

// stage adds a stage to the page, with the differences between the texts before and after its pass.
func (page *Page) stage(ir, name, why, before, after string) {
	s := Stage{Name: name, Why: why, IR: ir, Changed: before != after}
	for _, e := range textdiff.Edits(before, after) {
		line := strings.TrimSuffix(e.Line, "\n")
		s.Edits = append(s.Edits, Edit{e.Kind, line, page.positions(line)})
	}
	page.Stages = append(page.Stages, s)
}

// notes lists the statements of the host program that have a reason from a pass.
func (page *Page) notes(p *hostir.Program) {
	for s := range hostir.All(p.Body) {
		if info := s.Meta(); info.Note != "" {
			line := Line{Text: hosttext.Statement(s), From: page.inSpec(nil, strconv.Itoa(info.Pos.Line))}
			page.Notes = append(page.Notes, Wait{Line: line, Op: hostir.Op(s), Why: info.Note})
		}
	}
}

// moves lists the communications, with their reasons and the next best placements.
func (page *Page) moves(p *hostir.Program, on *cost.Machine) error {
	next, err := schedules.NextBest(p, on)
	if err != nil {
		return err
	}
	for _, m := range hostir.Movements(p) {
		from := page.inSpec(nil, strconv.Itoa(m.Pos.Line))
		page.Moves = append(page.Moves, Move{Line{Text: m.Short(p.Meshes[0].Name), From: from}, m.Why(), next(m).String()})
	}
	return nil
}

// summary adds figures to the page: figures of the whole program, its GEMMs, and how its communications are hidden.
func (page *Page) summary(p *hostir.Program, predicted *cost.Prediction) {
	add := func(name, value string) { page.Summary = append(page.Summary, Fact{name, value}) }
	add("ranks", fmt.Sprint(p.Meshes[0].Size()))
	add("compute streams", fmt.Sprint(p.Streams))
	if predicted == nil {
		add("predicted", "nothing: the program makes too many calls")
		return
	}
	page.GEMMs = predicted.Products()
	for _, c := range predicted.Communications {
		h := Hidden{Name: c.Name, From: page.inSpec(nil, strconv.Itoa(c.Pos.Line)), Times: c.Times, Total: c.Total, Exposed: c.Exposed,
			Behind: c.Hidden}
		for _, by := range c.Behind {
			h.By = append(h.By, fmt.Sprintf("%s (%s)", by.Name, duration(by.Time)))
		}
		page.Hidden = append(page.Hidden, h)
	}
	add("predicted on "+predicted.Machine.Name, duration(predicted.Total)+" a call")
	add("communicating alone", duration(predicted.Exposed))
	add("issued by the host in", duration(predicted.Host))
}

// duration prints a time in microseconds with about three digits.
func duration(us float64) string {
	sign := ""
	if us < 0 {
		sign, us = "-", -us
	}
	switch {
	case us >= 1000:
		return fmt.Sprintf("%s%.2f ms", sign, us/1000)
	case us >= 100:
		return fmt.Sprintf("%s%.0f us", sign, us)
	}
	return fmt.Sprintf("%s%.1f us", sign, us)
}
