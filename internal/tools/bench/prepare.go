package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
)

// program is a case in progress. Its row has the results so far.
type program struct {
	row      Row
	emitted  []emit.File
	products []cost.Product
	path     string // path of the executable, once it is built
}

// load reads a case's spec with its parameters. If ranks is not 0 and the mesh has another size, load sets the
// parameter that is the extent of the only mesh axis to ranks. It returns the parameters that are set, or an error if
// no parameter is that extent.
func load(c Case, ranks int) (*model.Pipeline, map[string]int64, error) {
	p, _, err := model.LoadFile(c.Spec, c.Params)
	if err != nil || ranks == 0 || p.Meshes[0].Size() == ranks {
		return p, c.Params, err
	}
	name, err := p.RanksParam()
	if err != nil {
		return nil, nil, err
	}
	params := maps.Clone(c.Params)
	if params == nil {
		params = map[string]int64{}
	}
	params[name] = int64(ranks)
	p, _, err = model.LoadFile(c.Spec, params)
	return p, params, err
}

// lower lowers a case and predicts its time. The row is waived if hirgen refuses the spec or the schedule, or if the
// machine has too few GPUs.
func (o *Options) lower(c Case) *program {
	p := &program{row: Row{Case: c, Device: string(o.Device)}}
	pipeline, set, err := load(c, o.Ranks)
	if err != nil {
		p.waive(firstOf(err))
		return p
	}
	p.row.Name, p.row.Ranks, p.row.Values = pipeline.Name, pipeline.Meshes[0].Size(), map[string]int64{}
	for _, param := range pipeline.Params {
		p.row.Values[param.Name] = param.Value
	}
	pipeline, _, err = model.LoadFile(c.Spec, set, c.Settings...)
	if err == nil {
		err = p.print(pipeline, o)
	}
	if err != nil {
		p.waive(firstOf(err))
	} else if gpus := launch.GPUs(); o.Device == launch.CUDA && gpus < p.row.Ranks {
		p.waive(fmt.Sprintf("%d GPUs are needed, and %d are here", p.row.Ranks, gpus))
	}
	return p
}

// print lowers, verifies and prints the program, and predicts its time.
func (p *program) print(pipeline *model.Pipeline, o *Options) error {
	options := lowering.Options{Machine: o.Machine, Verify: true}
	host, err := lowering.Host(pipeline, options)
	if err != nil {
		return err
	}
	lowered, err := lowering.Calls(host, options)
	if err != nil {
		return err
	}
	reports, err := prove.Each(lowered.Programs(), pipeline.With)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(reports, func(r *prove.Report) bool { return !r.Emits() }) {
		return errors.New("the program is not proved: hirgen verify says why")
	}
	if p.emitted, err = emit.Render(lowered, emit.Options{Version: o.Version}); err != nil {
		return err
	}
	p.row.Digest = digest(p.emitted)
	p.row.Schedule = chosen(host)
	return p.predict(lowered, o)
}

// predict sets the predicted times. The model covers GPUs only: for the CPU device, predict sets only the GEMMs and
// their FLOPs.
func (p *program) predict(lowered *calls.Described, o *Options) error {
	machine := o.Machine
	if machine == nil {
		var err error
		if machine, err = cost.LoadMachine(defaultMachine); err != nil {
			return err
		}
	}
	prediction, err := cost.Predict(lowered.Programs(), machine)
	if err != nil || prediction == nil {
		return err
	}
	p.products = prediction.Products()
	p.row.Flops = flops(p.products)
	if o.Device == launch.CUDA {
		p.row.Predicted = prediction.Total
		for _, c := range prediction.Communications {
			p.row.Moves += c.Total
		}
	}
	return nil
}

// defaultMachine is the machine of predictions if no other machine is named.
const defaultMachine = "h200"

// chosen returns the fields of the schedule of a program.
func chosen(p *hostir.Program) map[string]string {
	fields := map[string]string{}
	for _, m := range p.Choices.Report() {
		fields[m.Key] = fmt.Sprint(m.Value)
	}
	return fields
}

// build writes and compiles the program. A failure of the compiler is a failed row, and no error.
func (r *run) build(ctx context.Context, p *program) error {
	dir := filepath.Join(r.Work, p.row.folder())
	p.row.Folder = dir
	if _, err := emit.Write(dir, p.emitted, emit.WriteOptions{Force: true}); err != nil {
		return err
	}
	var err error
	p.path, err = launch.Build(ctx, launch.BuildOptions{Dir: dir, Device: r.Device, Cache: r.CMake, Progress: r.building(p)})
	var failure *launch.EnvironmentError
	if errors.As(err, &failure) && failure.Output != "" && ctx.Err() == nil {
		p.fail(failure.Message + ": " + lastOf(failure.Output))
		return nil
	}
	return err
}

// building reports the progress of a build as part of the current step.
func (r *run) building(p *program) func(done, all int, next string) {
	return func(done, all int, next string) {
		switch {
		case next == "":
		case all > 0:
			r.step(0, fmt.Sprintf("building %s: %d/%d  %s", p.row.Problem(), done, all, next))
		default:
			r.step(0, fmt.Sprintf("building %s: %s", p.row.Problem(), next))
		}
	}
}

// waive records why a case is not measured.
func (p *program) waive(reason string) { p.row.Status, p.row.Reason = Waived, reason }

// fail records why a case could not be measured.
func (p *program) fail(reason string) { p.row.Status, p.row.Reason = Failed, reason }

// digest returns the SHA-256 digest of all files, with their paths.
func digest(files []emit.File) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s %d\n", f.Path, len(f.Data))
		sum.Write(f.Data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// firstOf returns the first error in a spec, with its position, or the text of another error.
func firstOf(err error) string {
	if found, ok := diag.Diagnostics(err); ok {
		return found.Items[0].Error()
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Path + ": " + path.Err.Error()
	}
	return err.Error()
}
