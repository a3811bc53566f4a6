package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	api "github.com/hirgen/hirgen"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/spell"
	"github.com/hirgen/hirgen/model"
)

// isTerminal reports whether in is a character device, such as a terminal.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// A dialog asks for missing options of hirgen new.
type dialog struct {
	answers *bufio.Scanner
	out     io.Writer
	layer   string
	sizes   map[string]int64 // sizes given on the command line or answered, by parameter
}

// askForAll asks for a layer, and for each of its sizes that is not in sizes; an empty answer takes the default. Each
// answer is checked at once, together with the earlier answers.
func askForAll(in io.Reader, out io.Writer, sizes map[string]int64) (layer string, err error) {
	d := &dialog{answers: bufio.NewScanner(in), out: out, sizes: sizes}
	fmt.Fprintln(out, layerList())
	d.layer = d.ask("layer", api.Layers[0], unknownLayer)
	_, p, err := api.Layer(d.layer)
	if err != nil {
		return "", err
	}
	if _, reason := d.fit(nil, p.Params); reason != "" {
		return "", usagef("%s does not fit the sizes that the command line gives: %s", d.layer, reason)
	}
	for i, param := range p.Params {
		if _, given := sizes[param.Name]; !given {
			d.askForSize(param, p.Params[i+1:])
		}
	}
	return d.layer, nil
}

// askForSize asks for one size. Later sizes of the spec may still change to fit.
func (d *dialog) askForSize(param model.Param, later []model.Param) {
	what, usual := param.Name, strconv.FormatInt(param.Value, 10)
	if what == "D" {
		what = "D, the number of ranks"
	}
	if param.Text != "" {
		usual = param.Text
	} else if fitting, reason := d.fit([]model.Param{param}, later); reason == "" && fitting[param.Name] > 0 {
		usual = strconv.FormatInt(fitting[param.Name], 10)
	}
	answer := d.ask(what, usual, func(answer string) string {
		if answer == param.Text {
			_, reason := d.fit(nil, later)
			return reason
		}
		return d.faultOf(param.Name, answer, later)
	})
	if answer != param.Text {
		d.sizes[param.Name], _ = expr.Integer(answer) // checked, or the default
	}
}

// faultOf returns the reason why an answer is not valid, or an empty string.
func (d *dialog) faultOf(name, answer string, later []model.Param) string {
	n, err := expr.Integer(answer)
	switch {
	case err != nil:
		return err.Error()
	case n < 1:
		return "a size is at least 1"
	}
	tried := &dialog{layer: d.layer, sizes: maps.Clone(d.sizes)}
	tried.sizes[name] = n
	_, reason := tried.fit(nil, later)
	return reason
}

// fit looks for sizes with which the spec has no errors. It considers the sizes in of and later that have no answer and
// whose default is a plain number. It multiplies a default by the size D, if that is known and fewer errors remain then. It
// returns the multiplied sizes, and the message of the first remaining error, or "".
func (d *dialog) fit(of, later []model.Param) (map[string]int64, string) {
	found := map[string]int64{}
	faults, reason := d.faults(found)
	for _, param := range slices.Concat(of, later) {
		if _, given := d.sizes[param.Name]; given || param.Text != "" || faults == 0 {
			continue
		}
		found[param.Name] = param.Value * max(d.sizes["D"], 1)
		fewer, why := d.faults(found)
		if fewer >= faults {
			delete(found, param.Name)
			continue
		}
		faults, reason = fewer, why
	}
	return found, reason
}

// faults returns the number of errors of the spec with the sizes, and the message of the first one.
func (d *dialog) faults(more map[string]int64) (int, string) {
	sizes := maps.Clone(d.sizes)
	maps.Copy(sizes, more)
	_, err := api.NewSpec(d.layer, d.layer, api.Types[0], sizes)
	if err == nil {
		return 0, ""
	}
	found, ok := diag.Diagnostics(err)
	if !ok {
		return 1, err.Error()
	}
	return len(found.Items), found.Items[0].Message
}

// unknownLayer returns the message for an answer that names no layer, or an empty string.
func unknownLayer(answer string) string {
	if slices.Contains(api.Layers, answer) {
		return ""
	}
	if nearest, ok := spell.Nearest(answer, api.Layers); ok {
		return fmt.Sprintf("there is no such layer; did you mean %s?", nearest)
	}
	return "there is no such layer; there are " + strings.Join(api.Layers, ", ")
}

// ask asks until an answer is valid. It returns usual for an empty answer, if valid, and at the end of the input.
func (d *dialog) ask(what, usual string, fault func(string) string) string {
	for {
		fmt.Fprintf(d.out, "%s [%s]: ", what, usual)
		if !d.answers.Scan() {
			return usual
		}
		answer := strings.TrimSpace(d.answers.Text())
		if answer == "" {
			answer = usual
		}
		reason := fault(answer)
		if reason == "" {
			return answer
		}
		fmt.Fprintf(d.out, "%q will not do: %s\n", answer, reason)
	}
}
