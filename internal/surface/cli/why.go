package cli

import (
	"fmt"
	"slices"
	"time"

	"opdeck/api/evidence"
)

// whyJSON is a conclusion for programs, with its line for people.
type whyJSON struct {
	evidence.Conclusion
	Line string `json:"line"`
}

// printWhy prints the conclusions with their evidence, in order.
func (r *root) printWhy(concluded *evidence.Book) {
	said := []whyJSON{}
	for _, c := range slices.Backward(concluded.About("")) {
		said = append(said, whyJSON{c, safeText(c.Line(time.Local))})
	}
	if r.output == "json" || r.output == "jsonl" {
		_ = r.encode(r.env.Err, map[string][]whyJSON{"why": said}, false) // there is nowhere left to report it
		return
	}
	for _, s := range said {
		fmt.Fprintln(r.env.Err, s.Line)
	}
	if len(said) == 0 {
		fmt.Fprintln(r.env.Err, "This command drew no conclusion, so there is no evidence to show.")
	}
}
