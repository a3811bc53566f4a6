package schema

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// operation is "C = matmul(A, B)", or the map that tools write.
func operation() object {
	return object{{Key: "anyOf", Value: []object{
		{{Key: "type", Value: "string"}, {Key: "pattern", Value: operationPattern()}},
		operationMap(),
	}}}
}

// operationPattern is the form of an operation as a text: a known name, and of attributes those that it takes.
func operationPattern() string {
	var groups []string // those with the same attributes stand together
	byAttrs := map[string][]string{}
	for _, o := range merged() {
		attrs := attrNames(o)
		if _, has := byAttrs[attrs]; !has {
			groups = append(groups, attrs)
		}
		byAttrs[attrs] = append(byAttrs[attrs], o.Name)
	}
	for i, attrs := range groups {
		groups[i] = `(?:` + strings.Join(byAttrs[attrs], "|") + `)\s*\(` + arguments(attrs) + `\)`
	}
	const word = `[^\s=(),\[\]]+`
	return `^\s*` + word + `(?:\s*,\s*` + word + `)*\s*=\s*(?:` + strings.Join(groups, "|") + `)\s*$`
}

// arguments are operands, and then attributes: "=" stands behind their names, and in comparisons.
func arguments(attrs string) string {
	const operands = `[^=()]*`
	if attrs == "" {
		return operands
	}
	return operands + `(?:[\s,(](?:` + attrs + `)(?:[^=]|[=!]=)*)*`
}

// merged lists the operations once for each name, with all attributes that some meaning of it takes.
func merged() []model.OpInfo {
	var list []model.OpInfo
	for _, o := range model.OpInfos() {
		at := slices.IndexFunc(list, func(other model.OpInfo) bool { return other.Name == o.Name })
		if at < 0 {
			list = append(list, o)
			continue
		}
		list[at].Doc += "; of other operands: " + o.Doc
		list[at].Least, list[at].Most = min(list[at].Least, o.Least), max(list[at].Most, o.Most)
		list[at].Attributes = slices.Concat(list[at].Attributes, o.Attributes)
	}
	return list
}

// attrNames are the attributes with "=" and how their values begin.
func attrNames(o model.OpInfo) string {
	var list []string
	for _, attr := range o.Attributes {
		begin := `\s*=\s*[^\s=\[]`
		if attr.Form == model.FormList {
			begin = `\s*=\s*\[`
		}
		list = append(list, attr.Name+begin)
	}
	return strings.Join(list, "|")
}

// operationMap is one of a map for each operation.
func operationMap() object {
	var each []object
	for _, o := range merged() {
		properties := object{
			{Key: "op", Value: described(schedule.Plain(o.Doc), object{{Key: "const", Value: o.Name}})},
			{Key: "out", Value: results(o)},
			{Key: "in", Value: operands(o)},
		}
		for _, attr := range o.Attributes {
			properties = append(properties, object{{Key: attr.Name, Value: attribute(attr.Form)}}...)
		}
		each = append(each, closed("", properties, "op", "out", "in"))
	}
	return object{{Key: "oneOf", Value: each}}
}

func results(o model.OpInfo) object {
	several := append(listOf(ref("name")), object{{Key: "minItems", Value: 1}}...)
	if o.Results > 0 {
		several = append(several, object{{Key: "maxItems", Value: o.Results}}...)
	}
	return object{{Key: "anyOf", Value: []object{ref("name"), several}}}
}

func operands(o model.OpInfo) object {
	return append(listOf(ref("name")), object{{Key: "minItems", Value: o.Least}, {Key: "maxItems", Value: o.Most}}...)
}
