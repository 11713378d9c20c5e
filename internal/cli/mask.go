package cli

import (
	"opdeck/api/text"
	"opdeck/internal/mask"
	ui "opdeck/ui/text"
)

// number is an account number as this person may see it.
func (r *root) number(n text.Untrusted) string {
	if r.masked {
		return ui.Mask(n)
	}
	return n.Line(64)
}

// maskNumbers masks account numbers in JSON text; everything else stays to the
// letter.
func maskNumbers(s string) string { return string(mask.JSON([]byte(s))) }
