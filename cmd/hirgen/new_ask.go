package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	api "github.com/hirgen/hirgen"
	"github.com/hirgen/hirgen/internal/expr"
)

// isTerminal reports whether somebody may answer.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// askForAll asks for a layer, and for each of its sizes that has none yet; an empty answer takes the default.
func askForAll(in io.Reader, out io.Writer, sizes map[string]int64) (layer string, err error) {
	answers := bufio.NewScanner(in)
	fmt.Fprintln(out, layerList())
	layer = ask(answers, out, "layer", api.Layers[0], func(answer string) bool { return slices.Contains(api.Layers, answer) })
	_, p, err := api.Layer(layer)
	if err != nil {
		return "", err
	}
	for _, param := range p.Params {
		if _, given := sizes[param.Name]; given {
			continue
		}
		what, usual := param.Name, strconv.FormatInt(param.Value, 10)
		if what == "D" {
			what = "D, the number of ranks"
		}
		if param.Text != "" {
			usual = param.Text
		}
		answer := ask(answers, out, what, usual, func(answer string) bool {
			n, err := expr.Integer(answer)
			return err == nil && n > 0
		})
		if answer != usual {
			sizes[param.Name], _ = expr.Integer(answer) // as checked above
		}
	}
	return layer, nil
}

// ask asks until an answer will do.
func ask(answers *bufio.Scanner, out io.Writer, what, usual string, fits func(string) bool) string {
	for {
		fmt.Fprintf(out, "%s [%s]: ", what, usual)
		if !answers.Scan() {
			return usual
		}
		answer := strings.TrimSpace(answers.Text())
		switch {
		case answer == "":
			return usual
		case fits(answer):
			return answer
		}
		fmt.Fprintf(out, "%q will not do\n", answer)
	}
}
