package widget

import (
	"errors"
	"strings"

	"rsc.io/qr"
)

// QR draws text as a QR code with a quiet border, two rows of modules a line.
// It draws the light modules: theme.Code gives them a dark ground.
func QR(s string) ([]string, error) {
	code, err := qr.Encode(s, qr.L)
	if err != nil {
		return nil, errors.New("the text is too long for a QR code")
	}
	var out []string
	for y := -2; y < code.Size+2; y += 2 {
		var b strings.Builder
		for x := -2; x < code.Size+2; x++ {
			b.WriteString(half(code.Black(x, y), code.Black(x, y+1)))
		}
		out = append(out, b.String())
	}
	return out, nil
}

func half(top, bottom bool) string {
	switch {
	case !top && !bottom:
		return "█"
	case !top:
		return "▀"
	case !bottom:
		return "▄"
	}
	return " "
}
