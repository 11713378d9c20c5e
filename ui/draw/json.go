package draw

import (
	"bytes"
	"encoding/json"
	"strings"

	"opdeck/api/untrusted"
)

// JSON lays a JSON document out as safe lines, two spaces a level. Numbers,
// order and unknown fields stay as they came. What is not JSON is shown line by
// line, cleaned. At most max lines; false when there were more.
func JSON(doc []byte, max int) (lines []string, whole bool) {
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		b.Reset()
		b.Write(doc)
	}
	rest := b.String()
	for rest != "" {
		if len(lines) == max {
			return lines, false
		}
		var l string
		l, rest, _ = strings.Cut(rest, "\n")
		lines = append(lines, untrusted.Text(l).Line(4096))
	}
	return lines, true
}
