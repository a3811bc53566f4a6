package transport

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestChooseTransport(t *testing.T) { lowertest.PassCases(t, "choose-transport", ChooseTransport) }
