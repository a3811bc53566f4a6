package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

// TestEveryOperationIsDocumented checks that each operation is documented, and that its forms show all its attributes.
func TestEveryOperationIsDocumented(t *testing.T) {
	infos := OpInfos()
	for _, name := range operationNames() {
		if !slices.ContainsFunc(infos, func(o OpInfo) bool { return o.Name == name }) {
			t.Errorf("operation %s is not in the documentation", name)
		}
	}
	for _, o := range infos {
		shown := map[string]bool{}
		for _, form := range o.Forms {
			op := parseForm(form)
			for _, attr := range op.attrs {
				shown[attr.name.value] = true
				form := formOfAttr(attr.name.value)
				if want := form == FormList; attr.list != want && form != FormDTypes {
					t.Errorf("%s: list %t in the table, and %t here", o.Name, want, attr.list)
				}
				isType := len(attr.values) > 0 && slices.Contains(domain.AllDTypes, domain.DType(attr.values[0].value))
				if isType && form != FormDType && form != FormDTypes {
					t.Errorf("%s: %s has an element type, which the table does not say", o.Name, attr.name.value)
				}
			}
			if n := len(op.args); !strings.Contains(form, "...") && (n < o.Least || n > o.Most) {
				t.Errorf("%s has %d operands; %d to %d are possible", form, n, o.Least, o.Most)
			}
		}
		for _, attr := range o.Attributes {
			if !shown[attr.Name] {
				t.Errorf("no form of %s shows its attribute %s", o.Name, attr.Name)
			}
		}
	}
}
