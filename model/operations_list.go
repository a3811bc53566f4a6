package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// AttrForm is the form of an attribute's value.
type AttrForm string

// The forms of attributes.
const (
	FormExtent AttrForm = "expression" // an integer, or an expression over parameters
	FormNumber AttrForm = "number"     // a decimal number, or an expression over parameters with sqrt
	FormFlag   AttrForm = "flag"       // true or false
	FormDType  AttrForm = "dtype"      // an element type
	FormDTypes AttrForm = "dtypes"     // an element type, or a list of one for each operand
	FormList   AttrForm = "list"       // a list of expressions
	FormSplit  AttrForm = "split"      // the meaning of a split axis: one of SplitWords
)

// An AttrInfo is an attribute that an operation takes.
type AttrInfo struct {
	Name string   `json:"name"`
	Form AttrForm `json:"form"`
}

// OpInfo describes an operation of specs, as in the documentation. A name with two meanings, such as max, has two OpInfos.
type OpInfo struct {
	Name  string   `json:"name"`
	Forms []string `json:"forms"` // how it is written
	Doc   string   `json:"doc"`
	// Least and Most bound the number of operands.
	Least int `json:"least_operands"`
	Most  int `json:"most_operands"`
	// Results is the largest number of results; 0 for any number.
	Results    int        `json:"most_results"`
	Attributes []AttrInfo `json:"attributes"`
	// Composite is true if the operation is expanded into other operations.
	Composite bool `json:"composite"`
}

// attrForms has the forms of attributes. Attributes that it lacks have FormExtent.
var attrForms = map[string]AttrForm{
	"perm": FormList, "shape": FormList, "sizes": FormList, "dtype": FormDType, "quantize": FormDTypes, "causal": FormFlag, "split": FormSplit,
	"whole": FormFlag, "powers_of_two": FormFlag, "exclusive": FormFlag, "reverse": FormFlag,
	"by": FormNumber, "p": FormNumber, "eps": FormNumber, "base": FormNumber, "scale": FormNumber,
	"min": FormNumber, "max": FormNumber,
}

// OpInfos returns every operation, in the order of the documentation.
func OpInfos() []OpInfo {
	var list []OpInfo
	for _, row := range slices.Concat(primitives, attentions, composites) {
		for _, form := range row.forms {
			list = addForm(list, form, row.doc)
		}
	}
	return list
}

// addForm adds a form to the OpInfo of its operation, or adds a new OpInfo.
func addForm(list []OpInfo, form, doc string) []OpInfo {
	name, operands := formOf(form)
	rule, found := lookup(name, operands)
	composed, isComposite := composite(name)
	if isComposite {
		rule, found = composed, true
	}
	if !found {
		panic("model: the documented operation " + form + " is none")
	}
	at := slices.IndexFunc(list, func(o OpInfo) bool { return o.Name == name && o.Least == rule.least && o.Most == rule.most })
	if at < 0 {
		info := OpInfo{Name: name, Doc: doc, Least: rule.least, Most: rule.most, Results: max(rule.results, 1), Composite: isComposite,
			Attributes: []AttrInfo{}}
		if rule.results == math.MaxInt {
			info.Results = 0
		}
		for _, attr := range rule.attrs {
			info.Attributes = append(info.Attributes, AttrInfo{attr, formOfAttr(attr)})
		}
		list, at = append(list, info), len(list)
	}
	info := &list[at]
	info.Forms = append(info.Forms, form)
	if !strings.Contains(info.Doc, doc) {
		info.Doc += "; `" + form + "`: " + doc
	}
	return list
}

func formOfAttr(name string) AttrForm {
	if form, ok := attrForms[name]; ok {
		return form
	}
	return FormExtent
}

// formOf returns the name of the operation in a form, and its number of operands.
func formOf(form string) (name string, operands int) {
	op := parseForm(form)
	return op.fn.value, len(op.args)
}

// parseForm parses a form. The result may be omitted.
func parseForm(form string) *sourceOp {
	if before, _, _ := strings.Cut(form, "("); !strings.Contains(before, "=") {
		form = "result = " + form
	}
	op, d := parseOp(text{value: form}, &diag.List{})
	if d != nil {
		panic("model: the documented form of an operation is none: " + form + ": " + d.Message)
	}
	return op
}

// OpTables returns the tables of operations in docs/spec.md, by name.
func OpTables() map[string]string {
	return map[string]string{"primitives": opTable(primitives), "attentions": opTable(attentions), "composites": opTable(composites)}
}

func opTable(rows []opRow) string {
	var b strings.Builder
	b.WriteString("| operation | result |\n|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(row.forms, "`, `"), row.doc)
	}
	return b.String()
}
