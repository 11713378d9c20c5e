package present

import (
	"opdeck/internal/domain/index"
	"opdeck/internal/format"
)

// IndexVerdict says how much the index knows, how old that is, and whether it is all there is.
func IndexVerdict(o Options, f index.Freshness) Sentence {
	out := Sentence{Look{SignGood, Good}, format.Plural(int(f.Rows), "operation", "operations") + " known"}
	if !f.AsOf.IsZero() {
		ago, _ := format.Ago(f.AsOf, o.Now)
		out.Text += ", as of " + ago
	}
	switch {
	case f.Progress.Trouble != "":
		out.Look, out.Text = Look{SignWarn, Warn}, out.Text+"; sync paused: "+safe(f.Progress.Trouble, 200)
	case !f.Complete:
		out.Look, out.Text = Look{SignWarn, Warn}, out.Text+"; others are still being read"
	}
	return out
}
