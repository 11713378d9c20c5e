package e2e

import (
	"regexp"
	"testing"

	"opdeck/internal/sandbox"
)

// TestNotKnownIsAsked: where the service tells no lock and sends amounts in another form, the console and plain mode
// show neither as known, the question says so, and nothing is sent without a yes.
func TestNotKnownIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{Operations: 60}, "")
	w.faults("without=get:isLock,without=list:isLock,rename=get:nanos/scale,rename=list:nanos/scale")
	figure := regexp.MustCompile(`\d\.\d\d (EUR|USD|GBP)`)

	x := w.console(80, 24).shows("60 operations", "PENDING").matches(`\?\s+(USD|EUR)`)
	if text := x.screen(); figure.MatchString(text) {
		t.Errorf("an amount that is not known reads as a figure:\n%s", text)
	}
	x.press("d").shows("1 of 3", "?").press("x").armed("The service does not say whether this document is locked").press("\r")
	x.gone("does not say whether this document").press("q")

	p := w.plainMode()
	p.says("1", `(?s)60 operations.*From the index.*`+menu)
	p.says("documents 1", `(?s)lock.*\?.*`+menu)
	p.says("remove 1", `(?s)The service does not say whether this document is locked.*Type yes`)
	p.says("no", menu)
	p.leave()
	if figure.MatchString(p.all) {
		t.Errorf("plain mode reads an amount that is not known as a figure:\n%s", p.all)
	}
	if n := w.removals(); n != 0 {
		t.Errorf("%d removals were sent", n)
	}
}
