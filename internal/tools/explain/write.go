package explain

import (
	_ "embed"
	"html/template"
	"io"
	"strconv"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"from":     from,
	"duration": duration,
	"signed":   signed,
	"short":    shortened,
}).Parse(pageText))

// from returns the value of the attribute that links an element of the page to lines of the spec: " 12 14 ".
func from(lines []int) string {
	text := " "
	for _, n := range lines {
		text += strconv.Itoa(n) + " "
	}
	return text
}

// signed prints a difference of times with its sign.
func signed(us float64) string {
	if us < 0 {
		return duration(us)
	}
	return "+" + duration(us)
}

// shortened shortens text to at most the given number of characters, the last of which is then "…".
func shortened(most int, text string) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// Write prints the page as one HTML file.
func (p *Page) Write(w io.Writer) error {
	return page.Execute(w, struct {
		*Page
		Data stages
	}{p, p.encoded()})
}

// stages are the programs after the passes in the form that the page's script reads. Each line is stored once. The
// edits of a stage come in order. -n keeps n lines of the previous stage, 2 i inserts line i, and 2 i + 1 deletes the
// next line of the previous stage, which is line i.
type stages struct {
	Lines  []string `json:"lines"`
	From   [][]int  `json:"from"`
	Stages []coded  `json:"stages"`
}

type coded struct {
	Name    string `json:"name"`
	Why     string `json:"why"`
	IR      string `json:"ir"`
	Changed bool   `json:"changed"`
	Edits   []int  `json:"edits"`
}

// encoded returns the stages in the form of type stages.
func (p *Page) encoded() stages {
	var s stages
	number := map[string]int{}
	for _, stage := range p.Stages {
		c := coded{Name: stage.Name, Why: stage.Why, IR: stage.IR, Changed: stage.Changed, Edits: []int{}}
		for _, e := range stage.Edits {
			if e.Kind == ' ' {
				// A kept line is the next one of the stage before.
				if n := len(c.Edits); n > 0 && c.Edits[n-1] < 0 {
					c.Edits[n-1]--
				} else {
					c.Edits = append(c.Edits, -1)
				}
				continue
			}
			n, known := number[e.Line]
			if !known {
				n = len(s.Lines)
				number[e.Line] = n
				lines := e.From
				if lines == nil {
					lines = []int{}
				}
				s.Lines, s.From = append(s.Lines, e.Line), append(s.From, lines)
			}
			if e.Kind == '+' {
				c.Edits = append(c.Edits, 2*n)
			} else {
				c.Edits = append(c.Edits, 2*n+1)
			}
		}
		s.Stages = append(s.Stages, c)
	}
	return s
}
