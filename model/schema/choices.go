package schema

import (
	"github.com/hirgen/hirgen/model/schedule"
)

// choices returns the schema of the schedule: a preset, or a map of choices for the program, for all communications and
// for each communication.
func choices() object {
	properties := fields(schedule.Program)
	properties = append(properties, object{{Key: schedule.All,
		Value: described("choices for every communication that has none of its own", ref("communication"))}}...)
	return described("choices that change how fast the program is, never what it computes", object{{Key: "anyOf", Value: []object{
		{{Key: "enum", Value: schedule.Presets()}},
		{
			{Key: "type", Value: "object"}, {Key: "properties", Value: properties}, {Key: "additionalProperties", Value: ref("communication")},
		},
	}}})
}

// fields returns the schemas of the schedule's fields with a scope, by name.
func fields(scope schedule.Scope) object {
	var list object
	for _, f := range schedule.Fields {
		if f.Scope == scope {
			list = append(list, object{{Key: f.Name, Value: field(f)}}...)
		}
	}
	return list
}

func field(f schedule.Field) object {
	var forms []object
	for _, v := range f.Values {
		forms = append(forms, value(v))
	}
	if f.IsNumber() {
		forms = append(forms,
			object{{Key: "type", Value: "integer"}, {Key: "minimum", Value: f.Low}, {Key: "maximum", Value: f.High}},
			object{{Key: "type", Value: "string"}, {Key: "pattern", Value: expressionPattern}})
	}
	if f.MeshAxis {
		forms = append(forms, object{{Key: "enum", Value: []string{"x", "y", "z"}}})
	}
	o := described(schedule.Plain(f.Doc), object{{Key: "anyOf", Value: forms}})
	if f.Default != "" {
		o = append(o, object{{Key: "default", Value: f.Typed(f.Default)}}...)
	}
	return o
}

// value returns the schema of a named value of a field. A spec writes true and false with or without quotes.
func value(v schedule.Value) object {
	switch v.Name {
	case schedule.True, schedule.False:
		return described(schedule.Plain(v.Doc), object{{Key: "enum", Value: []any{v.Name == schedule.True, v.Name}}})
	default:
		return described(schedule.Plain(v.Doc), object{{Key: "const", Value: v.Name}})
	}
}
