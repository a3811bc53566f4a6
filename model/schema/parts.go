package schema

import (
	"github.com/hirgen/hirgen/model"
)

// The patterns of texts are regular expressions in the common syntax of JSON schemas and Go.
const (
	namePattern = `^[A-Za-z](?:_?[A-Za-z0-9])*$`

	open              = `[\s(-]*`
	operand           = open + `(?:[A-Za-z][A-Za-z0-9_]*|0|[1-9][0-9]*)[\s)]*`
	expression        = operand + `(?:(?:[-+*/%]|[=!]=)` + operand + `)*`
	expressionPattern = `^` + expression + `$`
	axisPattern       = `^(?:\s*DID[xyz]\s*|\s*(?:DID[xyz]|Stream|r|b)\s*\(` + expression + `\)\s*|` + expression + `)$`

	numberOperand = `(?:[\s(-]|sqrt\()*(?:[A-Za-z][A-Za-z0-9_]*|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[\s)]*`
	numberPattern = `^` + numberOperand + `(?:[-+*/]` + numberOperand + `)*$`
)

func ref(name string) object { return object{{Key: "$ref", Value: "#/$defs/" + name}} }

// described adds a description, which editors show, to a schema. An empty text adds nothing.
func described(text string, rest object) object {
	if text == "" {
		return rest
	}
	return append(object{{Key: "description", Value: text}}, rest...)
}

// mapOf returns the schema of a map whose keys and values match schemas.
func mapOf(text string, keys, values object) object {
	return described(text, object{
		{Key: "type", Value: "object"}, {Key: "propertyNames", Value: keys}, {Key: "additionalProperties", Value: values},
	})
}

// closed returns the schema of a map with only the given fields, of which some are required.
func closed(text string, properties object, required ...string) object {
	o := object{{Key: "type", Value: "object"}, {Key: "additionalProperties", Value: false}, {Key: "properties", Value: properties}}
	if len(required) > 0 {
		o = append(o, object{{Key: "required", Value: required}}...)
	}
	return described(text, o)
}

func listOf(items object) object {
	return object{{Key: "type", Value: "array"}, {Key: "items", Value: items}}
}

// unique returns the schema of a list of at least one item, without duplicates.
func unique(items object) object {
	return append(listOf(items), object{{Key: "minItems", Value: 1}, {Key: "uniqueItems", Value: true}}...)
}

func ofType(name string) object { return object{{Key: "type", Value: name}} }

func integerFrom(least int) object {
	return append(ofType("integer"), object{{Key: "minimum", Value: least}}...)
}

// textOr returns the schema of a number, or of a text that matches a pattern.
func textOr(number object, text, pattern string) object {
	return described(text, object{{Key: "anyOf", Value: []object{
		number, append(ofType("string"), object{{Key: "pattern", Value: pattern}}...),
	}}})
}

// attribute returns the schema of an attribute's value in the map form of an operation.
func attribute(form model.AttrForm) object {
	switch form {
	case model.FormList:
		return listOf(ref("expression"))
	case model.FormDType:
		return ref("dtype")
	case model.FormDTypes:
		pair := append(listOf(ref("dtype")), object{{Key: "minItems", Value: 2}, {Key: "maxItems", Value: 2}}...)
		return object{{Key: "anyOf", Value: []object{ref("dtype"), pair}}}
	case model.FormFlag:
		return object{{Key: "enum", Value: []any{true, false, "true", "false"}}}
	case model.FormSplit:
		return object{{Key: "enum", Value: model.SplitWords}}
	case model.FormNumber:
		return ref("decimal")
	default:
		return ref("expression")
	}
}
