package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/grad"
)

func newGrad() *cobra.Command {
	var flags specFlags
	var options grad.Options
	var out, forward, gradients string
	var force bool
	cmd := &cobra.Command{
		Use:   "grad SPEC",
		Short: "Write the backward pass of a spec as a spec",
		Long: `Write the spec that computes the gradients of a spec's inputs from the gradients of its outputs. The result is meant to be read
and edited. A file that holds anything but an earlier result for the same spec is replaced only with --force. Each gradient is
split over the ranks as its tensor is.

The backward pass needs inputs and some results of the forward pass. --recompute says which results it computes again; the
others become its inputs, and outputs of the forward pass that --forward writes:

  cheap   what takes no matrix product, attention or softmax, and needs nothing else to be saved (the default)
  none    nothing
  all     everything, from the inputs
  NAME    this result, in addition`,
		Example: `  hirgen grad testdata/specs/llama_mlp/spec.yaml -o llama_mlp_backward.yaml --forward llama_mlp.yaml
  hirgen grad testdata/specs/llama_mlp/spec.yaml --of X --recompute all`,
		Args:              exactly("SPEC"),
		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			pipeline, src, err := flags.load(cmd, args[0])
			if err != nil {
				return err
			}
			options.Gradients = domain.DType(gradients)
			if gradients != "" && !options.Gradients.Saturates() {
				return usagef("--gradients is fp8_e4m3 or fp8_e5m2, not %s", gradients)
			}
			pass, err := backward(pipeline, options)
			if err != nil {
				return src.locate(err)
			}
			texts := map[string]string{forward: pass.Forward, out: pass.Text}
			for path, text := range texts {
				if path != "" && !force && !replaces(path, text) {
					return usagef("%s is not what hirgen grad wrote of this spec; name another file, or add --force to replace it", path)
				}
			}
			for path, text := range texts {
				if path == "" {
					continue
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					return err
				}
				wroteTo(cmd.ErrOrStderr(), path, "hirgen check "+path)
			}
			if out == "" {
				_, err = cmd.OutOrStdout().Write([]byte(pass.Text))
			}
			return err
		},
	}
	flags.registerSpec(cmd)
	cmd.Flags().StringSliceVar(&options.Of, "of", nil, "give the gradients of these inputs, `NAME,...`; otherwise of all that have one")
	cmd.Flags().StringSliceVar(&options.Recompute, "recompute", nil,
		"compute these results of the forward pass anew: none, cheap, all, or `NAME,...`")
	cmd.Flags().StringVar(&gradients, "gradients", "",
		"quantize gradients to `TYPE` in the GEMMs of operations that quantize: fp8_e4m3 or fp8_e5m2; otherwise as the forward pass quantizes")
	cmd.Flags().StringVar(&forward, "forward", "", "write the forward pass, with saved tensors as outputs, to `FILE`")
	cmd.Flags().BoolVar(&force, "force", false, "replace files that hirgen grad did not write, or of another spec")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE` instead of standard output")
	return cmd
}

// replaces reports whether grad may write a spec to a file. It may if the file does not exist, is no regular file, such
// as a pipe, or holds an earlier result of grad for a spec of the same name.
func replaces(path, text string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return true // if the file cannot be written, the write returns the error
	}
	have, err := os.ReadFile(path)
	name := regexp.MustCompile(`(?m)^name: .*$`)
	return err == nil && strings.Contains(string(have), "# "+grad.Origin) && name.FindString(string(have)) == name.FindString(text)
}
