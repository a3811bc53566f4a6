package schema

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// operation is "C = matmul(A, B)", or the map form that tools write.
func operation() object {
	return object{{Key: "anyOf", Value: []object{
		{{Key: "type", Value: "string"}, {Key: "pattern", Value: operationPattern()}},
		operationMap(),
	}}}
}

// operationPattern matches an operation as text: a known name, with only the attributes of that operation.
func operationPattern() string {
	var groups []string // one group for each set of attributes
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

// arguments matches operands, and then attributes. "=" comes only after names of attributes, and in comparisons.
func arguments(attrs string) string {
	const operands = `[^=()]*`
	if attrs == "" {
		return operands
	}
	return operands + `(?:[\s,(](?:` + attrs + `)(?:[^=]|[=!]=)*)*`
}

// merged lists the operations once for each name, with the attributes of all its meanings.
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

// attrNames matches the attributes with "=" and the first character of their values.
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

// operationMap is one of several maps, one for each operation.
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
