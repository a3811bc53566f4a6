// Package chart draws curves for pages: SVG in one HTML file that needs no other.
package chart

import (
	_ "embed"
	"html/template"

	"github.com/hirgen/hirgen/internal/base/style"
)

//go:embed parts.html.tmpl
var partsText string

// Parts returns a template with the common parts of pages: "style" for a <style> element, and "chart", which prints a
// Chart.
func Parts(name string) *template.Template {
	t := template.Must(template.New(name).Parse(partsText))
	template.Must(t.New("common").Parse(style.Text))
	return t
}
