package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/tools/simulate"
)

// defaultCluster is the machine of simulate without --machine.
const defaultCluster = "dgx_h200"

// simulateFlags has the flags of simulate.
type simulateFlags struct {
	specFlags
	costFlags
	ranks       []int
	scale, page string
	json        bool
}

func newSimulate() *cobra.Command {
	var flags simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate SPEC -n RANKS,... [--machine MACHINE] [--scale PARAM]",
		Short: "Predict how fast a spec runs on clusters that you do not have",
		Long: `Predict how long one call of a spec takes on each of several numbers of ranks, without GPUs. Nothing is built or run.

It prints a table with a row for each number of ranks, and below it the meaning of each column and the basis of the prediction. For the first example below, the table is:

` + simulateSample + `
predicted us is how long a call takes, in microseconds. For compute us of it a rank computes; for exposed us it
communicates and computes nothing, which is what a better schedule can hide. efficiency is the speed per rank, compared
with the first row. figures says whether the machine was measured on so many ranks: "not validated" means that it was not.

Without --scale the problem keeps its size (strong scaling). --scale M lets the parameter M grow with the ranks, from
its value at the ranks that the spec has (weak scaling). The parameter that is the extent of the mesh's axis is set to
the number of ranks.

A machine file describes the GPUs, their number on a node, and the network between nodes. It may be like a machine that comes
with hirgen and state only what differs. Ranks that do the same are simulated once.

A pipeline in which every rank exchanges shards with every other takes a few seconds for 256 ranks, and half a minute
for 1,024.`,
		Example: `  hirgen simulate testdata/specs/mlp_tp/spec.yaml -n 2,4,8,16
  hirgen simulate testdata/specs/mlp_tp/spec.yaml -n 8,64,1024 --scale M --machine dgx_h100 -o page.html
  hirgen simulate testdata/specs/ag_matmul_anywhere/spec.yaml -n 64 --trace folded.json --json`,
		Args:              exactly("SPEC"),
		ValidArgsFunction: completeSpec,
		RunE:              func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}
	flags.registerSpec(cmd)
	flags.registerLowering(cmd)
	machine := cmd.Flags().Lookup("machine")
	machine.DefValue = defaultCluster
	_ = machine.Value.Set(defaultCluster)
	f := cmd.Flags()
	f.IntSliceVarP(&flags.ranks, "ranks", "n", nil, "predict for each of `RANKS`: numbers, with commas between them")
	f.StringVar(&flags.scale, "scale", "", "let `PARAM` grow with the ranks: weak scaling")
	f.StringVar(&flags.trace, "trace", "", "write the timeline of the most ranks to `FILE`, one rank for all that do the same")
	f.StringVarP(&flags.page, "output", "o", "", "write a page with curves to `FILE`")
	f.BoolVar(&flags.json, "json", false, "print a JSON object instead of a table")
	return cmd
}

// simulateSample is the table that the first example of the help prints.
const simulateSample = `  ranks  nodes  predicted us  compute us  exposed us  efficiency  TFLOP/s  classes        figures
      2      1        7095.1      6905.5       182.3       1.000    619.9        1       measured
      4      1        3916.3      3692.5       216.5       0.906    561.5        1       measured
      8      1        2446.0      2160.4       278.4       0.725    449.5        1       measured
     16      2        1770.8      1372.1       391.4       0.501    310.5        1  not validated
`

// run predicts, prints the table or JSON, and writes the files of the options.
func (f *simulateFlags) run(cmd *cobra.Command, path string) error {
	options, err := f.options(cmd, path)
	if err != nil {
		return err
	}
	result, err := simulate.Run(options)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if f.json {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(result)
	} else {
		err = result.Write(out)
	}
	if err == nil && f.page != "" {
		err = toFile(f.page, result.Page)
	}
	if err != nil {
		return err
	}
	if f.page != "" {
		wroteTo(cmd.ErrOrStderr(), f.page, "open it in a browser")
	}
	largest := result.Largest()
	if largest == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "hirgen: nothing was predicted")
		return &exitError{code: exitSpec}
	}
	few := largest.Few(mostTraced)
	if f.trace != "" && len(few.Classes) < len(largest.Classes) {
		fmt.Fprintf(cmd.ErrOrStderr(), "hirgen: %s has %d of %d classes of ranks, since all make %d calls\n",
			f.trace, len(few.Classes), len(largest.Classes), len(largest.Calls))
	}
	return f.writeTrace(few)
}

// mostTraced is the most calls of a trace, about 4 MB. A trace has more if one class alone has more.
const mostTraced = 12000

// options reads the flags and the spec.
func (f *simulateFlags) options(cmd *cobra.Command, path string) (o simulate.Options, err error) {
	if len(f.ranks) == 0 || slices.ContainsFunc(f.ranks, func(n int) bool { return n < 1 || n > mostRanks }) {
		return o, usagef("-n RANKS,... says for how many ranks: numbers in 1 to %d", mostRanks)
	}
	pipeline, src, err := f.load(cmd, path)
	if err != nil {
		return o, err
	}
	var names []string
	for _, param := range pipeline.Params {
		names = append(names, param.Name)
	}
	extent, _ := pipeline.RanksParam()
	if f.scale != "" && (!slices.Contains(names, f.scale) || f.scale == extent) {
		return o, usagef("--scale %s: name a parameter of %s that is not its number of ranks: %s", f.scale, path, strings.Join(names, ", "))
	}
	slices.Sort(f.ranks)
	o = simulate.Options{File: src.path, Text: src.text, Ranks: slices.Compact(f.ranks), Scale: f.scale}
	if o.Params, err = parseParams(f.params); err != nil {
		return o, err
	}
	if o.Settings, err = parseSchedule(f.schedule); err != nil {
		return o, err
	}
	if o.Lowering, err = f.loweringOptions(cmd.ErrOrStderr()); err != nil {
		return o, err
	}
	o.Lowering.Verify = false // verifying takes as long as lowering
	if o.Machine = o.Lowering.Machine; o.Machine == nil {
		o.Machine, err = loadMachine(f.machine)
	}
	return o, err
}

// mostRanks is the largest number of ranks that can be simulated.
const mostRanks = 4096
