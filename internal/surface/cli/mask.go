package cli

import (
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/ui/draw"
)

// number is an account number as this person may see it.
func (r *root) number(n untrusted.Text) string {
	if r.masked {
		return draw.Mask(n)
	}
	return n.Line(64)
}

// maskNumbers masks account numbers in JSON text; everything else stays to the
// letter.
func maskNumbers(s string) string { return string(mask.JSON([]byte(s))) }
