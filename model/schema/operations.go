package schema

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// operation returns the schema of an operation: a text such as "C = matmul(A, B)", or the map form that tools write.
func operation() object {
	return object{{Key: "anyOf", Value: []object{
		{{Key: "type", Value: "string"}, {Key: "pattern", Value: operationPattern()}},
		operationMap(),
	}}}
}

// operationPattern returns a regular expression for an operation as text: a known name, with only the attributes of that
// operation.
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

// arguments returns a regular expression for operands and then attributes. attrs matches an attribute up to the first
// character of its value. Elsewhere, "=" is only part of a comparison.
func arguments(attrs string) string {
	const operands = `[^=()]*`
	if attrs == "" {
		return operands
	}
	return operands + `(?:[\s,(](?:` + attrs + `)(?:[^=]|[=!]=)*)*`
}

// merged returns one operation for each name. If operations share a name, it has the documentation, the attributes and the
// numbers of operands of all of them.
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

// attrNames returns a regular expression for the name of an attribute, "=" and the first character of the value.
func attrNames(o model.OpInfo) string {
	var list []string
	for _, attr := range o.Attributes {
		begin := `\s*=\s*[^\s=\[]`
		switch attr.Form {
		case model.FormList:
			begin = `\s*=\s*\[`
		case model.FormDTypes:
			begin = `\s*=\s*[^\s=]`
		}
		list = append(list, attr.Name+begin)
	}
	return strings.Join(list, "|")
}

// operationMap returns the schema of the map form: one of several maps, one for each name of an operation.
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
