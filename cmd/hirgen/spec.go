package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// specFlags are the flags of commands that read a spec: parameters, the schedule, and
// the switches of lowering. A command may register only some of them.
type specFlags struct {
	params    []string
	schedule  []string
	from      string // file with a schedule
	dumpAfter []string
	disable   []string
	machine   string
	emits     bool // set by emit: a spec from a pipe gets the name of its pipeline
}

func (f *specFlags) register(cmd *cobra.Command) {
	f.registerSpec(cmd)
	f.registerLowering(cmd)
}

// registerSpec adds the flags that change the spec.
func (f *specFlags) registerSpec(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.params, "param", "p", nil, "set a parameter of the spec, `NAME=VALUE`; repeatable")
	flags.StringArrayVar(&f.schedule, "schedule", nil,
		"set a field of the schedule, `FIELD=VALUE`, as in streams=2 or all.via=ipc-get, or all of it to a preset, as in none or eager, or to "+
			"{} for the default of each field; repeatable")
	flags.StringVar(&f.from, "schedule-file", "",
		"take the schedule of `FILE` in place of the spec's, as hirgen tune writes it; --schedule changes fields of it")
	_ = cmd.RegisterFlagCompletionFunc("schedule", completing(scheduleNames))
}

// readSchedule adds the fields of --schedule-file. The fields of --schedule take precedence.
func (f *specFlags) readSchedule() error {
	if f.from == "" {
		return nil
	}
	settings, err := model.LoadSchedule(f.from)
	if err != nil {
		text, _ := os.ReadFile(f.from)
		return (&source{path: f.from, text: text}).locate(err)
	}
	for _, s := range settings {
		given := func(flag string) bool { path, _, _ := strings.Cut(flag, "="); return path == s.Path }
		switch {
		case s.Path == "":
			f.schedule = append(f.schedule, s.Value)
		case !slices.ContainsFunc(f.schedule, given):
			f.schedule = append(f.schedule, s.Path+"="+s.Value)
		}
	}
	f.from = ""
	return nil
}

// registerLowering adds the flags of lowering.
func (f *specFlags) registerLowering(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.dumpAfter, "dump-after", nil, "print the host program after `PASS` (or all) to standard error; repeatable")
	flags.StringArrayVar(&f.disable, "disable-pass", nil, "leave `PASS` out; repeatable")
	_ = cmd.RegisterFlagCompletionFunc("dump-after", completing(dumpNames))
	_ = cmd.RegisterFlagCompletionFunc("disable-pass", completing(passNames))
	f.registerMachine(cmd)
}

// registerMachine adds the flag for the machine of predictions.
func (f *specFlags) registerMachine(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.machine, "machine", schedules.MeasuredMachine, "predict for `MACHINE`, and choose for it with schedule: auto: "+
		strings.Join(cost.Machines(), ", ")+", or a file that --calibrate of an emitted program wrote")
	_ = cmd.RegisterFlagCompletionFunc("machine", cobra.FixedCompletions(cost.Machines(), cobra.ShellCompDirectiveDefault))
}

// specError holds mistakes in a spec or another file, with the text of the file.
type specError struct {
	errors *diag.Errors
	path   string // as in source
	text   []byte
}

func (e *specError) Error() string { return e.errors.Error() }

// source returns the text of the file at e.path, for the source lines of a report. It returns false for other files.
func (e *specError) source(file string) ([]byte, bool) {
	return e.text, file == e.path
}

// load reads the spec at path; "-" is standard input.
func (f *specFlags) load(cmd *cobra.Command, path string) (*model.Pipeline, *source, error) {
	if err := f.readSchedule(); err != nil {
		return nil, nil, err
	}
	overrides, settings, err := parseSettings(f.params, f.schedule)
	if err != nil {
		return nil, nil, err
	}
	src := &source{path: path, name: filepath.Base(path)}
	var pipeline *model.Pipeline
	info, err := os.Stat(path)
	isStream := path == "-" || err == nil && !info.Mode().IsRegular()
	if path == "-" {
		src.path, src.name = "stdin", "stdin"
		// One byte beyond the limit lets the loader say that the text is too large.
		src.text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), model.MaxSpecSize+1))
		if err != nil {
			return nil, nil, fmt.Errorf("reading standard input: %w", err)
		}
		pipeline, err = model.Load(src.path, src.text, overrides, settings...)
	} else {
		pipeline, src.text, err = model.LoadFile(path, overrides, settings...)
	}
	if err == nil && isStream && f.emits { // the name of a pipe is arbitrary
		src.name = pipeline.Name + ".yaml"
		pipeline, err = model.Load(src.name, src.text, overrides, settings...)
	}
	if err != nil {
		return nil, nil, src.locate(err)
	}
	return pipeline, src, nil
}

// lower reads the spec at path and lowers it.
func (f *specFlags) lower(cmd *cobra.Command, path string) (*hostir.Program, *source, error) {
	options, err := f.loweringOptions(cmd.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	pipeline, src, err := f.load(cmd, path)
	if err != nil {
		return nil, nil, err
	}
	src.pipeline = pipeline
	src.lowering = options
	program, err := lowering.Host(pipeline, options)
	if err != nil {
		return nil, nil, src.locate(err)
	}
	return program, src, nil
}

// lowered reads the spec at path, and lowers it to calls.
func (f *specFlags) lowered(cmd *cobra.Command, path string) (*hostir.Program, *calls.Described, *source, error) {
	program, src, err := f.lower(cmd, path)
	if err != nil {
		return nil, nil, nil, err
	}
	lowered, err := src.calls(program)
	return program, lowered, src, err
}

// source is a spec as it was read.
type source struct {
	path     string // its name in error messages: the path, or "stdin" for "-"
	name     string // its name in positions and emitted programs; empty: the base name of path
	text     []byte
	pipeline *model.Pipeline // set by lower
	lowering lowering.Options
}

// calls turns the lowered program of a spec into calls.
func (s *source) calls(program *hostir.Program) (*calls.Described, error) {
	lowered, err := lowering.Calls(program, s.lowering)
	if err != nil {
		return nil, s.locate(err)
	}
	return lowered, nil
}

// locate returns diagnostics as a specError, with path in place of name. Positions in the model have only base names, so
// that output does not depend on folders. Errors without diagnostics stay unchanged.
func (s *source) locate(err error) error {
	found, ok := diag.Diagnostics(err)
	if !ok {
		return err
	}
	found.Rename(cmp.Or(s.name, filepath.Base(s.path)), s.path)
	return &specError{errors: found, path: s.path, text: s.text}
}

// settings returns the -p and --schedule flags, sorted and without duplicates, and --machine unless it is the default.
func (f *specFlags) settings() []string {
	var flags []string
	for _, setting := range slices.Compact(slices.Sorted(slices.Values(f.params))) {
		flags = append(flags, "-p", setting)
	}
	for _, setting := range slices.Compact(slices.Sorted(slices.Values(f.schedule))) {
		flags = append(flags, "--schedule", setting)
	}
	if f.machine != schedules.MeasuredMachine {
		flags = append(flags, "--machine", f.machine)
	}
	return flags
}

// parseSettings reads the values of -p and of --schedule.
func parseSettings(params, choices []string) (map[string]int64, []model.Setting, error) {
	values, err := parseParams(params)
	if err != nil {
		return nil, nil, err
	}
	settings, err := parseSchedule(choices)
	return values, settings, err
}

// parseParams reads the values of -p.
func parseParams(settings []string) (map[string]int64, error) {
	overrides := map[string]int64{}
	for _, setting := range settings {
		name, text, found := strings.Cut(setting, "=")
		if !found || name == "" {
			return nil, usagef("-p %s: write NAME=VALUE, as in -p M=8192", setting)
		}
		value, err := expr.Integer(text)
		if err != nil {
			return nil, usagef("-p %s: %s", setting, err)
		}
		if previous, twice := overrides[name]; twice {
			return nil, usagef("-p sets %s twice, to %d and to %d; give it once", name, previous, value)
		}
		overrides[name] = value
	}
	return overrides, nil
}

// parseSchedule reads the values of --schedule. A preset alone replaces the whole schedule, so it comes first.
func parseSchedule(settings []string) ([]model.Setting, error) {
	var list []model.Setting
	for _, setting := range settings {
		path, value, found := strings.Cut(setting, "=")
		switch {
		case !found && (setting == model.Defaults || slices.Contains(schedule.Presets(), setting)):
			path, value = "", setting
		case !found || path == "":
			return nil, usagef("--schedule %s: write FIELD=VALUE, as in --schedule all.via=ipc-get, or a preset: %s; or {}", setting,
				strings.Join(schedule.Presets(), ", "))
		}
		if i := slices.IndexFunc(list, func(s model.Setting) bool { return s.Path == path }); i >= 0 {
			return nil, usagef("--schedule sets %s twice, to %s and to %s; give it once", cmp.Or(path, "a preset"), list[i].Value, value)
		}
		list = append(list, model.Setting{Path: path, Value: value})
	}
	slices.SortStableFunc(list, func(a, b model.Setting) int { return min(len(a.Path), 1) - min(len(b.Path), 1) })
	return list, nil
}

// scheduleNames returns the completions of --schedule: the presets, and every field with its values and its meaning.
func scheduleNames() []string {
	names := schedule.Presets()
	for _, f := range schedule.Fields {
		path := f.Name
		if f.Scope == schedule.Communication {
			path = schedule.All + "." + path
		}
		for _, value := range f.Completions() {
			names = append(names, cobra.CompletionWithDesc(path+"="+value, schedule.Plain(f.Doc)))
		}
	}
	return names
}
