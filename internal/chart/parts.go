// Package chart draws curves for pages: SVG in one HTML file that needs no other.
package chart

import (
	_ "embed"
	"html/template"
)

//go:embed parts.html.tmpl
var partsText string

// Parts is a template that has what pages share: "style" for a <style> element, and "chart", which prints a Chart.
func Parts(name string) *template.Template {
	return template.Must(template.New(name).Parse(partsText))
}
