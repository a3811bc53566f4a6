package model

import (
	"path/filepath"

	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/schedule"
)

// LoadSchedule reads a file that has only a schedule, as in a spec: "schedule: {streams: 2, all: {via: ipc-get}}".
// The settings replace the schedule of a spec. Errors are a *diag.Errors. Unknown fields and values of the schedule are
// reported only when a spec is loaded with the settings.
func LoadSchedule(path string) ([]Setting, error) {
	src, err := readSpec(path)
	if err != nil {
		return nil, err
	}
	base := filepath.Base(path)
	var list diag.List
	settings := readSchedule(base, src, &list)
	if list.Len() > 0 {
		return nil, renamed(&list, base, path)
	}
	return settings, nil
}

func readSchedule(base string, src []byte, list *diag.List) []Setting {
	root := decode(base, src, list)
	if root == nil {
		return nil
	}
	r := &yamlReader{list: list, lines: newLineTable(base, src), out: &source{file: base}}
	r.fields(root, "the file", []field{{"schedule", r.schedule}})
	settings := []Setting{{Value: Defaults}}
	for _, f := range r.out.schedule {
		settings = append(settings, Setting{schedule.Path(f.of.value, f.name.value), f.value.value})
	}
	return settings
}

// PrintSchedule returns the text of a file from which LoadSchedule reads the settings.
func PrintSchedule(settings []Setting) (string, error) {
	fields := yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	of := map[string]*yaml.Node{"": &fields}
	word := func(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }
	for _, s := range settings {
		if s == (Setting{Value: Defaults}) {
			continue
		}
		tensor, field := schedule.SplitPath(s.Path)
		if s.Path == "" {
			field = schedule.Preset
		}
		if of[tensor] == nil {
			of[tensor] = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			fields.Content = append(fields.Content, word(tensor), of[tensor])
		}
		of[tensor].Content = append(of[tensor].Content, word(field), word(s.Value))
	}
	text, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{word("schedule"), &fields}})
	return string(text), err
}
