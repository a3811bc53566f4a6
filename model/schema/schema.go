// Package schema prints the JSON schema of specs, with which editors complete and check specs. It comes from the
// tables of the loader: operations, fields of the schedule, element types. The schema checks only the form of a spec. A
// spec that it refuses is wrong, but a spec that it accepts may be wrong, too.
package schema

import (
	"bytes"
	"encoding/json"

	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/names"
	"github.com/hirgen/hirgen/model/schedule"
)

// URL is where the schema is published. Line refers to it.
const URL = "https://raw.githubusercontent.com/hirgen/hirgen/main/docs/hirgen.schema.json"

// Line is the comment with which editors find the schema of a spec.
const Line = "# yaml-language-server: $schema=" + URL

// An object keeps its keys in order, so that the published file does not change without a reason.
type object = schedule.Object

// Print returns the schema as indented JSON.
func Print() ([]byte, error) {
	text, err := json.Marshal(root())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func root() object {
	return object{
		{Key: "$schema", Value: "https://json-schema.org/draft/2020-12/schema"},
		{Key: "$id", Value: URL},
		{Key: "title", Value: "hirgen spec"},
		{Key: "description", Value: "A multi-GPU pipeline. Written from hirgen's tables by \"go test ./model/schema -update\"."},
		{Key: "type", Value: "object"},
		{Key: "required", Value: []string{"hirgen", "name", "tensors", "ops"}},
		{Key: "additionalProperties", Value: false},
		{Key: "properties", Value: sections()},
		{Key: "$defs", Value: definitions()},
	}
}

// sections returns the schemas of the fields of a spec, by name.
func sections() object {
	return object{
		{Key: "hirgen", Value: described("the version of the format", object{{Key: "enum", Value: []any{1, "1"}}})},
		{Key: "name", Value: described("the name of the pipeline, and of the program", ref("name"))},
		{Key: "doc", Value: described("a sentence about it, for people", ref("scalar"))},
		{Key: "params", Value: mapOf("integers of at least 1, by name; each may use those before it", ref("name"), ref("param"))},
		{Key: "mesh", Value: described("the mesh of all ranks: extents by axis", ref("mesh"))},
		{Key: "meshes", Value: mapOf("further meshes, by name", ref("name"), closed("", object{
			{Key: "axes", Value: ref("mesh")},
			{Key: "ranks", Value: unique(textOr(integerFrom(0), "", `^`+expression+`(?:\.\.`+expression+`)?$`))},
		}, "axes"))},
		{Key: "dtype", Value: described("the element type of tensors that do not say theirs", ref("computed_dtype"))},
		{Key: "tensors", Value: mapOf("inputs, and results whose axes are not inferred, by name", ref("name"), ref("tensor"))},
		{Key: "ops", Value: object{
			{Key: "description", Value: "operations in their order"}, {Key: "type", Value: "array"}, {Key: "minItems", Value: 1},
			{Key: "items", Value: ref("operation")},
		}},
		{Key: "outputs", Value: described("results that the caller gets", unique(ref("name")))},
		{Key: "fill", Value: mapOf("values of inputs when a program checks itself", ref("name"), object{{Key: "enum", Value: domain.Fills}})},
		{Key: "schedule", Value: ref("schedule")},
	}
}

func definitions() object {
	axes := object{{Key: "type", Value: "array"}, {Key: "minItems", Value: 1}, {Key: "items", Value: ref("axis")}}
	return object{
		{Key: "name", Value: object{
			{Key: "type", Value: "string"}, {Key: "pattern", Value: namePattern}, {Key: "maxLength", Value: names.MaxLength},
		}},
		{Key: "scalar", Value: object{{Key: "type", Value: []string{"string", "number", "boolean"}}}},
		{Key: "expression", Value: textOr(ofType("integer"), "an integer, or an expression over parameters", expressionPattern)},
		{Key: "param", Value: textOr(integerFrom(1), "an integer of at least 1, or an expression over the parameters before", expressionPattern)},
		{Key: "decimal", Value: textOr(ofType("number"), "a decimal number, or an expression with sqrt(...)", numberPattern)},
		{Key: "axis", Value: textOr(integerFrom(1), "an extent such as M/D, or DIDx, Stream(S), r(K), b(1)", axisPattern)},
		{Key: "dtype", Value: object{{Key: "enum", Value: domain.AllDTypes}}},
		{Key: "computed_dtype", Value: object{{Key: "enum", Value: domain.DTypes}}},
		{Key: "mesh", Value: object{
			{Key: "type", Value: "object"}, {Key: "minProperties", Value: 1},
			{Key: "propertyNames", Value: object{{Key: "enum", Value: []string{"x", "y", "z"}}}},
			{Key: "additionalProperties", Value: ref("expression")},
		}},
		{Key: "tensor", Value: object{{Key: "anyOf", Value: []object{axes, closed("", object{
			{Key: "axes", Value: axes},
			{Key: "dtype", Value: ref("dtype")},
			{Key: "mesh", Value: ref("name")},
		}, "axes")}}}},
		{Key: "operation", Value: operation()},
		{Key: "schedule", Value: choices()},
		{Key: "communication", Value: closed("choices for one communication", fields(schedule.Communication))},
	}
}
