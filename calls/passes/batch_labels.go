package passes

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
)

// nameBatches adds the tensors of all operations of a batch to the text of the batch's label: "let peers write U,
// P_parts". It skips labels that other statements have, too. labels has the labels of the operations by batch.
func nameBatches(p *calls.Program, labels map[*calls.MemOpBatch][]string) {
	texts, users, own := map[string]string{}, map[string]int{}, calls.ByName(p.Labels)
	for _, d := range p.Labels {
		texts[d.Name] = d.Text
	}
	for s := range calls.All(p.Body) {
		if _, record := s.(*calls.EventRecord); !record {
			users[s.Meta().Label]++
		}
	}
	for batch, list := range labels {
		whole := own[batch.Label]
		if whole == nil || users[batch.Label] > 1 {
			continue
		}
		head := whole.Text[:strings.LastIndex(whole.Text, " ")+1]
		_, verb, _ := strings.Cut(head, " ")
		for _, label := range list {
			if label != batch.Label {
				_, words, _ := strings.Cut(texts[label], " ")
				whole.Text += ", " + strings.TrimPrefix(words, verb)
			}
		}
	}
}
