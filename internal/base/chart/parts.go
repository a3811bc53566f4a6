// Package chart draws curves as SVG, for HTML pages that need no other file.
package chart

import (
	_ "embed"
	"html/template"

	"github.com/hirgen/hirgen/internal/base/style"
)

//go:embed parts.html.tmpl
var partsText string

// Parts returns a new template with the common parts of pages. "style" is for a <style> element, "chart" prints the SVG
// of a Chart, and "axes" prints a sentence on the scales of a Chart.
func Parts(name string) *template.Template {
	t := template.Must(template.New(name).Parse(partsText))
	template.Must(t.New("common").Parse(style.Text))
	return t
}
